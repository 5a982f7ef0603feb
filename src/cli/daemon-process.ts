/**
 * The daemon as a process: starts it so that it outlives the command, and waits for its start and exit.
 * Only its program, its home and whether it responds are known here.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { chmod, type FileHandle, open, readFile, statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.js";
import { createClient } from "../client/client.js";
import { ReeveError } from "../core/errors.js";
import { createSanitizer } from "../core/safe-text.js";
import { renderElapsed } from "../core/units.js";
import { makeFolder } from "../home/make-folder.js";
import type { Home } from "../home/paths.js";
import type { DaemonJson } from "../http/contract/daemon.js";
import { DAEMON_FLAGS, DAEMON_PROGRAM } from "./daemon-program.js";

const POLL_MS = 25;
const ANSWER_MS_MAX = 2_000;
/** A busy machine, or many simultaneous commands, can delay a response without a hang. */
const BUSY_MS_MAX = 15_000;
/** A daemon that finds its home in use waits this long for the other one to respond. */
const START_MS_MAX = 30_000;
const STOP_MS_MAX = 30_000;
/** A start may have failed because another daemon was faster, which responds within this time. */
const RIVAL_MS_MAX = 1_000;
const SHOWN_LINES_MAX = 15;
const SHOWN_BYTES_MAX = 16_384;
/** With less, a daemon cannot even log why it did not start. */
const FREE_BYTES_MIN = 65_536;

export interface StartOptions {
	readonly home: Home;
	readonly env: NodeJS.ProcessEnv;
	readonly program?: string;
	readonly startMsMax?: number;
}

/** Starts a daemon if none responds. `started` is null if one did. */
export async function ensureDaemon(
	options: StartOptions,
): Promise<{ readonly started: { readonly pid: number } | null }> {
	const client = createClient({ socketPath: options.home.socket });
	if (await answers(client)) return { started: null };
	const { startByKeeper } = await import("./service/keeper.js");
	if (await startByKeeper(options.home, options.env)) {
		await waitForAnswer(client, { how: null, isServed: false }, START_MS_MAX);
		const { pid } = await client.call("GET /api/v1/daemon");
		return { started: { pid } };
	}
	return startDaemon(client, options);
}

/** Whether a daemon responds; an inaccessible socket, or a hanging daemon, is an error. */
export async function answers(client: Client): Promise<boolean> {
	const untilMs = performance.now() + BUSY_MS_MAX;
	for (;;) {
		try {
			return await answersNow(client);
		} catch (error) {
			if (!isCode(error, "timeout") || performance.now() > untilMs) throw error;
		}
	}
}

async function answersNow(client: Client): Promise<boolean> {
	try {
		await client.call("GET /health", { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
		return true;
	} catch (error) {
		if (isCode(error, "no_daemon") || isCode(error, "connection_lost")) return false;
		throw error;
	}
}

/** The environment of a daemon of this home. */
export function daemonEnv(home: Home, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	return { ...env, REEVE_HOME: home.dir };
}

async function startDaemon(
	client: Client,
	{ home, env, program = DAEMON_PROGRAM, startMsMax = START_MS_MAX }: StartOptions,
): Promise<{ readonly started: { readonly pid: number } | null }> {
	const log = await openLog(home);
	try {
		const { size } = await log.stat();
		const child = spawn(process.execPath, [...DAEMON_FLAGS, program], {
			cwd: "/",
			detached: true,
			env: daemonEnv(home, env),
			stdio: ["ignore", log.fd, log.fd],
		});
		const ended = endOf(child);
		const outcome = await waitForAnswer(client, ended, startMsMax);
		if (outcome === "answers") {
			child.unref();
			// Another daemon may have been faster and respond here, which this one may not have noticed yet.
			const { pid } = await client.call("GET /api/v1/daemon");
			return { started: pid === child.pid ? { pid } : null };
		}
		// Otherwise it could start later, when no command waits for it.
		if (outcome === "silent") child.kill("SIGKILL");
		const silence = `did not respond within ${renderElapsed(startMsMax)}`;
		const how = ended.isServed
			? `another daemon owns this home and ${silence}`
			: (ended.how ?? `the daemon ${silence} and was killed`);
		const lines = await lastLines(log, size);
		// On a full disk there is no log with the reason.
		const reasons = lines.length === 0 ? await explainSilence(home) : lines;
		throw new ReeveError("daemon_failed", [how, ...reasons].join("\n  "));
	} finally {
		await log.close();
	}
}

async function explainSilence({ dir }: Home): Promise<readonly string[]> {
	const { bavail, bsize } = await statfs(dir);
	return bavail * bsize < FREE_BYTES_MIN
		? [`the disk of ${dir} is full: free some space, then start the daemon again`]
		: [];
}

async function openLog(home: Home): Promise<FileHandle> {
	await makeHome(home);
	try {
		const log = await open(home.daemonLog, "a+", 0o600);
		await chmod(home.daemonLog, 0o600);
		return log;
	} catch (error) {
		throw explainUnusable(home, error);
	}
}

/** Private to its owner. The daemon checks existing directories again. */
export async function makeHome(home: Home): Promise<void> {
	try {
		await makeFolder(home.dir);
	} catch (error) {
		throw explainUnusable(home, error);
	}
}

function explainUnusable({ dir }: Home, error: unknown): ReeveError {
	const { code, message } = error as NodeJS.ErrnoException;
	return code === "EACCES" || code === "EPERM"
		? new ReeveError("home_denied", `cannot use ${dir}: ${message}`)
		: new ReeveError("write_failed", `cannot use ${dir} as the home: ${message}`);
}

/** The exit of a child process. */
interface ChildEnd {
	/** As text. */
	how: string | null;
	/** An exit without a failure means that another daemon owns the home and listens; it may still be busy. */
	isServed: boolean;
}

function endOf(child: ChildProcess): ChildEnd {
	const end: ChildEnd = { how: null, isServed: false };
	child.once("error", (error) => {
		end.how = `the daemon cannot be started: ${error.message}`;
	});
	child.once("exit", (code, signal) => {
		end.isServed = code === 0;
		end.how = `the daemon exited during startup (${signal ?? `exit code ${code}`})`;
	});
	return end;
}

async function waitForAnswer(
	client: Client,
	ended: Readonly<ChildEnd>,
	startMsMax: number,
): Promise<"answers" | "ended" | "silent"> {
	const startedMs = performance.now();
	let endedMs: number | null = null;
	for (;;) {
		const seen = await lookQuietly(client);
		if (seen === "ready") return "answers";
		const nowMs = performance.now();
		if (ended.how !== null) endedMs ??= nowMs;
		if (endedMs !== null && !ended.isServed && nowMs - endedMs > RIVAL_MS_MAX) return "ended";
		// A daemon with many agents keeps recovering them; its status shows how far it is.
		if (nowMs - startedMs > startMsMax) return seen === "recovers" ? "answers" : "silent";
		await sleep(POLL_MS);
	}
}

/** During the start, any error means: not yet. */
async function lookQuietly(client: Client): Promise<"silent" | "recovers" | "ready"> {
	try {
		const signal = AbortSignal.timeout(ANSWER_MS_MAX);
		const { services } = await client.call("GET /api/v1/daemon", { signal });
		const recovers = services.some(
			({ policy, state }) => policy === "critical" && state === "starting",
		);
		return recovers ? "recovers" : "ready";
	} catch {
		return "silent";
	}
}

async function answersQuietly(client: Client): Promise<boolean> {
	try {
		return await answersNow(client);
	} catch {
		return false;
	}
}

/** The last lines of the log after `from`. */
async function lastLines(log: FileHandle, from: number): Promise<readonly string[]> {
	const { size } = await log.stat();
	const start = Math.max(from, size - SHOWN_BYTES_MAX);
	const bytes = Buffer.alloc(Math.max(0, size - start));
	await log.read(bytes, 0, bytes.length, start);
	const lines = createSanitizer().write(bytes).trimEnd().split("\n");
	return lines
		.filter((line) => line.trim() !== "")
		.slice(-SHOWN_LINES_MAX)
		.map(renderLogLine);
}

/** A line of the daemon's log as a sentence: what happened, and why. Other text is unchanged. */
function renderLogLine(line: string): string {
	try {
		const { msg, error } = JSON.parse(line) as { msg?: unknown; error?: unknown };
		if (typeof msg !== "string") return line;
		const [why] = typeof error === "string" ? error.split("\n") : [];
		return why === undefined ? msg : `${msg}: ${why.replace(/^Error: /, "")}`;
	} catch {
		return line;
	}
}

/** Waits until the daemon neither responds nor runs, so that another can replace it. */
export async function waitForEnd(
	client: Client,
	{ pid }: Pick<DaemonJson, "pid">,
	stopMsMax = STOP_MS_MAX,
): Promise<void> {
	const startedMs = performance.now();
	while ((await isAlive(pid)) || (await answersQuietly(client))) {
		if (performance.now() - startedMs > stopMsMax) {
			const hint = `Its log shows what it is waiting for. Run \`kill ${pid}\` twice to force it.`;
			const waited = renderElapsed(stopMsMax);
			throw new ReeveError(
				"daemon_failed",
				`the daemon (pid ${pid}) is still running after ${waited}`,
				hint,
			);
		}
		await sleep(POLL_MS);
	}
}

async function isAlive(pid: number): Promise<boolean> {
	try {
		process.kill(pid, 0);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "EPERM";
	}
	// If no parent reaps it, as in many containers, an exited process keeps its pid.
	const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
	return !/\) [ZX] /.test(stat);
}

export function isCode(error: unknown, code: ReeveError["code"]): boolean {
	return error instanceof ReeveError && error.code === code;
}
