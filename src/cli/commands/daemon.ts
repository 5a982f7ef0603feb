/** `reeve daemon`: runs, starts, stops, reloads and shows the daemon of this home. */

import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { Client } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { renderElapsed } from "../../core/units.js";
import type { DaemonJson } from "../../http/contract/daemon.js";
import type { StoppedJson } from "../../http/contract/shapes.js";
import { countOf } from "../arguments.js";
import { connect } from "../connect.js";
import { connectOrStart } from "../connect-or-start.js";
import { answers, daemonEnv, ensureDaemon, isCode, waitForEnd } from "../daemon-process.js";
import { DAEMON_FLAGS, DAEMON_PROGRAM } from "../daemon-program.js";
import { hasListenOption, type ListenOptions, rememberListen } from "../listen-settings.js";
import type { Cli, Output } from "../output.js";
import { renderTable } from "../table.js";
import { warnOfProblems } from "../warn-of-problems.js";
import { exitOf, printStopped } from "./down.js";
import { localTime } from "./ps.js";

interface JsonOption {
	readonly json?: boolean;
}

/** In the foreground: output, signals and exit code are passed through. */
export async function runDaemonRun(_options: { json?: boolean }, { env }: Cli): Promise<number> {
	const { home, client } = connect(env);
	if (await answers(client)) {
		const { pid } = await client.call("GET /api/v1/daemon");
		throw new ReeveError("daemon_running", `a daemon is already running (pid ${pid})`);
	}
	// Registered before the daemon starts, so that no signal can end this command and leave the daemon unattended.
	const passOn = (signal: NodeJS.Signals) => child.kill(signal);
	process.on("SIGINT", passOn).on("SIGTERM", passOn).on("SIGHUP", passOn);
	const child = spawn(process.execPath, [...DAEMON_FLAGS, DAEMON_PROGRAM], {
		env: daemonEnv(home, env),
		stdio: "inherit",
		// In its own group: otherwise Ctrl-C would reach it twice, and the second signal forces it to exit.
		detached: true,
	});
	try {
		return await new Promise<number>((resolve, reject) => {
			child.once("error", (error) =>
				reject(new ReeveError("daemon_failed", `the daemon cannot be started: ${error.message}`)),
			);
			child.once("exit", (code, signal) =>
				resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]),
			);
		});
	} finally {
		process.off("SIGINT", passOn).off("SIGTERM", passOn).off("SIGHUP", passOn);
	}
}

export async function runDaemonStart(
	options: JsonOption & ListenOptions,
	{ output, env }: Cli,
): Promise<number> {
	const { home, client } = connect(env);
	if (hasListenOption(options)) {
		if (await answers(client)) {
			const hint = "Use `reeve daemon restart --listen …` to change its address.";
			throw new ReeveError("daemon_running", "a daemon is already running", hint);
		}
		await rememberListen(home, options);
	}
	const { started } = await ensureDaemon({ home, env });
	const pid = started?.pid ?? (await client.call("GET /api/v1/daemon")).pid;
	if (options.json) {
		output.json({ started: started !== null, pid, home: home.dir, socket: home.socket });
	} else {
		output.result(`${started === null ? "already running" : "started"} (pid ${pid})`);
	}
	await warnOfProblems(home, client, output);
	return CLI_EXIT.done;
}

export async function runDaemonStop(
	options: JsonOption & { readonly all?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const all = options.all === true;
	// Only another daemon can stop the agents of a dead one.
	const { client } = all ? await connectOrStart(env, output, options) : connect(env);
	const { pid, stopped, left } = await stopDaemon(client, all);
	if (options.json) {
		output.json({ pid, stopped });
	} else {
		if (stopped.length > 0) printStopped(stopped, output);
		const rest =
			left === 0 ? "" : `; ${countOf(left, "agent")} ${left === 1 ? "keeps" : "keep"} running`;
		output.result(`daemon stopped (pid ${pid})${rest}`);
	}
	return exitOf(stopped);
}

export async function runDaemonRestart(
	options: JsonOption & ListenOptions,
	{ output, env }: Cli,
): Promise<number> {
	const { home, client } = connect(env);
	if (hasListenOption(options)) await rememberListen(home, options);
	const before = (await answers(client)) ? await stopDaemon(client, false) : null;
	const { started } = await ensureDaemon({ home, env });
	const pid = started?.pid ?? (await client.call("GET /api/v1/daemon")).pid;
	if (options.json) {
		output.json({ pid, before: before?.pid ?? null, home: home.dir, socket: home.socket });
	} else {
		output.result(
			before === null
				? `started (pid ${pid}); no daemon was running before`
				: `restarted (pid ${pid}, previously ${before.pid}); sessions keep running, workers are restarted`,
		);
	}
	await warnOfProblems(home, client, output);
	return CLI_EXIT.done;
}

export async function runDaemonReload(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { home, client } = connect(env);
	const { changed, keys, problem } = await client.call("POST /api/v1/daemon/reload");
	if (problem !== null) {
		throw new ReeveError("settings_invalid", `the settings were not applied:\n${problem}`);
	}
	if (options.json) output.json({ changed, keys });
	else output.result(changed ? `applied: ${keys.join(", ")}` : "no settings changed");
	await warnOfProblems(home, client, output);
	return CLI_EXIT.done;
}

/** Stops it gracefully; sessions keep running unless all are to be stopped. */
export async function stopDaemon(
	client: Client,
	all: boolean,
): Promise<{
	readonly pid: number;
	readonly stopped: readonly StoppedJson[];
	/** Agents that keep running without it. */
	readonly left: number;
}> {
	const { pid } = await client.call("GET /api/v1/daemon");
	const { agents } = await client.call("GET /api/v1/agents");
	// Workers depend on the daemon's pipes: they exit with it, and the next daemon starts them again.
	const lives = agents.filter(({ pid, kind }) => pid !== null && kind === "session");
	const left = all ? 0 : lives.length;
	const { stopped } = await client.call("POST /api/v1/daemon/stop", { body: { all } });
	await waitForEnd(client, { pid });
	return { pid, stopped, left };
}

export async function runDaemonStatus(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { home, client } = connect(env);
	let status: DaemonJson;
	try {
		status = await client.call("GET /api/v1/daemon");
	} catch (error) {
		if (!options.json || !isCode(error, "no_daemon")) throw error;
		output.json({ running: false, home: home.dir, socket: home.socket });
		return CLI_EXIT.no_daemon;
	}
	if (options.json) output.json(status);
	else printStatus(status, output);
	return CLI_EXIT.done;
}

function printStatus(status: DaemonJson, output: Output): void {
	const { colors } = output;
	const uptime = renderElapsed(Math.max(0, Date.now() - Date.parse(status.started_at)));
	const facts: (readonly [string, string])[] = [
		["state", status.ready ? colors.green("ready") : colors.yellow("not ready")],
		["pid", String(status.pid)],
		["version", status.version],
		["since", `${localTime(status.started_at)} (${uptime})`],
		["home", status.home],
		["socket", status.socket],
		["listen", status.listen ?? "-"],
		...status.problems.map((problem) => ["problem", colors.yellow(problem)] as const),
	];
	for (const [name, value] of facts) output.result(`${colors.dim(name.padEnd(8))} ${value}`);
	if (status.services.length === 0) return;
	output.result("");
	const rows = status.services.map(({ name, policy, state, restarts }) =>
		[name, state, String(restarts), policy].map((text) => ({ text })),
	);
	for (const line of renderTable(["SERVICE", "STATE", "RESTARTS", "POLICY"], rows, output.columns))
		output.result(line);
}
