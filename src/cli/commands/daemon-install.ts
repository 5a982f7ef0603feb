/** `reeve daemon install` and `uninstall`: the daemon as a service of the operating system. */

import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { messageOf } from "../../core/message-of.js";
import { resolveHome } from "../../home/paths.js";
import { writeWhole } from "../../home/update-file.js";
import { countOf } from "../arguments.js";
import { checkSocketPath } from "../connect.js";
import { answers, isCode, makeHome } from "../daemon-process.js";
import type { Cli, Output } from "../output.js";
import {
	createManager,
	gatherFacts,
	type Host,
	type Installer,
	thisHost,
} from "../service/installer.js";
import type { Command, ServiceManager, ServiceScope, ServiceState } from "../service/service.js";
import { stopDaemon } from "./daemon.js";

export interface InstallOptions {
	readonly system?: boolean;
	readonly user?: string;
	readonly dryRun?: boolean;
	readonly json?: boolean;
}

const ANSWER_MS_MAX = 60_000;
const POLL_MS = 50;

export async function runDaemonInstall(
	options: InstallOptions,
	{ output, env }: Cli,
	host: Host = thisHost(),
): Promise<number> {
	const scope = scopeOf(options);
	const manager = createManager(scope, env, host);
	const installer = await gatherFacts(scope, env, host, options);
	checkSocketPath(installer.home);
	if (options.dryRun) return printPlan(manager, installer, options, output);
	requireRoot(scope, host);
	const before = await manager.inspect();
	refuseForeign(before);
	refuseOtherHome(before, installer.home.dir);

	// launchd opens the log in it before the daemon could create it.
	if (scope === "user") await makeHome(installer.home);
	await writeService(manager.file, manager.render(installer.facts));
	const client = createClient({ socketPath: installer.home.socket });
	const handedOver = await handOver(client, before);
	for (const command of manager.installCommands(before)) await manager.run(command);
	const pid = await waitForAnswer(client, manager);

	const advice = await manager.advice();
	const warnings = [...installer.warnings, ...advice.map(({ text }) => text)];
	const updated = before.installed === "yes";
	if (options.json) {
		output.json({
			manager: manager.name,
			scope,
			file: manager.file,
			home: installer.home.dir,
			updated,
			pid,
			handed_over: handedOver,
			warnings,
		});
		return CLI_EXIT.done;
	}
	const replaced = handedOver === null ? "" : `, replacing pid ${handedOver}`;
	const what = updated ? "updated" : "installed";
	output.result(`${what} ${manager.file}; the daemon is running (pid ${pid}${replaced})`);
	for (const warning of warnings) printWarning(warning, output);
	return CLI_EXIT.done;
}

export async function runDaemonUninstall(
	options: InstallOptions,
	{ output, env }: Cli,
	host: Host = thisHost(),
): Promise<number> {
	const scope = scopeOf(options);
	const manager = createManager(scope, env, host);
	const { before, after } = manager.uninstallCommands();
	if (options.dryRun) {
		const commands: Command[] = [...before, ["rm", manager.file], ...after];
		if (options.json) output.json({ manager: manager.name, scope, file: manager.file, commands });
		else for (const command of commands) output.result(renderCommand(command));
		return CLI_EXIT.done;
	}
	requireRoot(scope, host);
	const state = await manager.inspect();
	refuseForeign(state);
	const removed = state.installed === "yes";
	const left = removed ? await countLeft(state.home) : 0;
	if (removed) {
		for (const command of before) await manager.run(command);
		await rm(manager.file, { force: true });
		for (const command of after) await manager.run(command);
	}
	if (options.json) {
		output.json({ manager: manager.name, scope, file: manager.file, removed, agents_left: left });
	} else if (removed) {
		const rest =
			left === 0
				? ""
				: `; ${countOf(left, "agent")} ${left === 1 ? "keeps" : "keep"} running, and \`reeve daemon start\` supervises ${left === 1 ? "it" : "them"} again`;
		output.result(`removed ${manager.file}; daemon stopped${rest}`);
	} else {
		output.result(`nothing to remove: ${manager.file} does not exist`);
	}
	return CLI_EXIT.done;
}

const scopeOf = ({ system }: InstallOptions): ServiceScope => (system ? "system" : "user");

function printPlan(
	manager: ServiceManager,
	{ facts, warnings }: Installer,
	{ json }: InstallOptions,
	output: Output,
): number {
	const text = manager.render(facts);
	const commands = manager.installCommands({ installed: "no" });
	if (json) {
		const { name, file } = manager;
		output.json({ manager: name, scope: facts.scope, file, text, commands, warnings });
		return CLI_EXIT.done;
	}
	output.note(`would write ${manager.file}:`);
	output.result(text.trimEnd());
	output.note("and run:");
	for (const command of commands) output.result(renderCommand(command));
	for (const warning of warnings) printWarning(warning, output);
	return CLI_EXIT.done;
}

function printWarning(warning: string, output: Output): void {
	output.note(`${output.sayColors.yellow("note")}: ${warning}`);
}

const renderCommand = (command: Command) =>
	command.map((word) => (/^[\w./:@%+=-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");

function requireRoot(scope: ServiceScope, { uid }: Host): void {
	if (scope !== "system" || uid === 0) return;
	const hint = "Run it with sudo, or without --system: a user service needs no root.";
	throw new ReeveError("needs_root", "--system needs root", hint);
}

function refuseForeign(state: ServiceState): void {
	if (state.installed !== "foreign") return;
	const hint = "Move it first. Reeve only changes and removes files that it wrote.";
	throw new ReeveError("file_exists", `${state.file} was not written by Reeve`, hint);
}

function refuseOtherHome(state: ServiceState, home: string): void {
	if (state.installed !== "yes" || state.home === null || state.home === home) return;
	throw new ReeveError(
		"file_exists",
		`the installed service runs the daemon of ${state.home}, not of ${home}`,
		`Set REEVE_HOME=${state.home} to update it, or remove it first with \`reeve daemon uninstall\`.`,
	);
}

async function writeService(file: string, text: string): Promise<void> {
	try {
		await mkdir(dirname(file), { recursive: true });
		// Independent of the umask: systemd and launchd must be able to read it, and launchd rejects one
		// that others can write.
		await writeWhole(file, text, 0o644);
	} catch (error) {
		throw new ReeveError("write_failed", `cannot write ${file}: ${(error as Error).message}`);
	}
}

/** A manually started daemon would prevent the service from starting, so it is stopped. */
async function handOver(client: Client, before: ServiceState): Promise<number | null> {
	if (!(await answers(client))) return null;
	const { pid } = await client.call("GET /api/v1/daemon");
	if (before.installed === "yes" && before.pid === pid) return null;
	await stopDaemon(client, false);
	return pid;
}

async function waitForAnswer(client: Client, manager: ServiceManager): Promise<number> {
	const untilMs = performance.now() + ANSWER_MS_MAX;
	for (;;) {
		try {
			return (await client.call("GET /api/v1/daemon")).pid;
		} catch (error) {
			if (performance.now() < untilMs) {
				await sleep(POLL_MS);
				continue;
			}
			const why = messageOf(error);
			const hint = `Try again with \`${manager.startHint}\`, or run \`reeve doctor\` to find the cause.`;
			throw new ReeveError(
				"service_failed",
				`the service is installed, but no daemon responds: ${why}`,
				hint,
			);
		}
	}
}

/** The number of sessions that keep running without their daemon. */
async function countLeft(home: string | null): Promise<number> {
	if (home === null) return 0;
	try {
		const { socket } = resolveHome({ REEVE_HOME: home });
		const { agents } = await createClient({ socketPath: socket }).call("GET /api/v1/agents");
		return agents.filter(({ pid, kind }) => pid !== null && kind === "session").length;
	} catch (error) {
		if (isCode(error, "no_daemon") || isCode(error, "connection_lost")) return 0;
		throw error;
	}
}
