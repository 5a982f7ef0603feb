/**
 * The daemon as a process: starting it so that it outlives whoever started it, and waiting for its
 * beginning and its end. What it does is its own affair; all that is known of it here is its program,
 * its home and whether it answers.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { chmod, type FileHandle, open, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.js";
import { createClient } from "../client/client.js";
import type { Home } from "../client/home.js";
import { makeFolder } from "../client/make-folder.js";
import { ReeveError } from "../core/errors.js";
import { renderElapsed } from "../core/units.js";
import type { DaemonJson } from "../http/contract/daemon.js";
import { DAEMON_PROGRAM } from "./daemon-program.js";
import { createSanitizer } from "./sanitize.js";

const LOOK_EVERY_MS = 25;
const ANSWER_MS_MAX = 2_000;
/** A daemon that finds its home taken waits this long for the other one to answer. */
const START_MS_MAX = 30_000;
const STOP_MS_MAX = 30_000;
/** A daemon that lost the race for the home ends once the winner listens, which may need this long to answer. */
const RIVAL_MS_MAX = 1_000;
const TOLD_LINES_MAX = 15;
const TOLD_BYTES_MAX = 16_384;

export interface StartOptions {
	readonly home: Home;
	readonly env: NodeJS.ProcessEnv;
	readonly program?: string;
	readonly startMsMax?: number;
}

/** Starts a daemon when none answers. `started` is null when one did. */
export async function ensureDaemon(
	options: StartOptions,
): Promise<{ readonly started: { readonly pid: number } | null }> {
	const client = createClient({ socketPath: options.home.socket });
	if (await answers(client)) return { started: null };
	const { startByKeeper } = await import("./service/keeper.js");
	if (await startByKeeper(options.home, options.env)) {
		await waitForAnswer(client, { how: null }, START_MS_MAX);
		const { pid } = await client.call("GET /api/v1/daemon");
		return { started: { pid } };
	}
	return startDaemon(client, options);
}

/** Whether a daemon answers; a socket that may not be used, or a daemon that hangs, is an error. */
export async function answers(client: Client): Promise<boolean> {
	try {
		await client.call("GET /health", { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
		return true;
	} catch (error) {
		if (isCode(error, "no_daemon") || isCode(error, "connection_lost")) return false;
		throw error;
	}
}

/** The environment in which a daemon of this home runs. */
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
		const child = spawn(process.execPath, [program], {
			cwd: "/",
			detached: true,
			env: daemonEnv(home, env),
			stdio: ["ignore", log.fd, log.fd],
		});
		const ended = endOf(child);
		const outcome = await waitForAnswer(client, ended, startMsMax);
		if (outcome === "answers") {
			child.unref();
			// Another one may have been faster: then it is that one which answers, and ours may not have
			// noticed yet.
			const { pid } = await client.call("GET /api/v1/daemon");
			return { started: pid === child.pid ? { pid } : null };
		}
		// It would come up later, unasked, when nobody waits for it any more.
		if (outcome === "silent") child.kill("SIGKILL");
		const how =
			ended.how ?? `the daemon did not answer within ${renderElapsed(startMsMax)} and was ended`;
		throw new ReeveError("daemon_failed", [how, ...(await lastLines(log, size))].join("\n  "));
	} finally {
		await log.close();
	}
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

/** For its owner alone. The daemon looks again at what was there already. */
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
		? new ReeveError("home_denied", `${dir} may not be used: ${message}`)
		: new ReeveError("write_failed", `cannot use ${dir} as the home: ${message}`);
}

/** How a child ended, in words, once it has. */
function endOf(child: ChildProcess): { how: string | null } {
	const end: { how: string | null } = { how: null };
	child.once("error", (error) => {
		end.how = `the daemon cannot be started: ${error.message}`;
	});
	child.once("exit", (code, signal) => {
		end.how = `the daemon ended before it answered (${signal ?? `exit code ${code}`})`;
	});
	return end;
}

async function waitForAnswer(
	client: Client,
	ended: { readonly how: string | null },
	startMsMax: number,
): Promise<"answers" | "ended" | "silent"> {
	const startedMs = performance.now();
	let endedMs: number | null = null;
	for (;;) {
		if (await answersQuietly(client)) return "answers";
		const nowMs = performance.now();
		if (ended.how !== null) endedMs ??= nowMs;
		if (endedMs !== null && nowMs - endedMs > RIVAL_MS_MAX) return "ended";
		if (nowMs - startedMs > startMsMax) return "silent";
		await sleep(LOOK_EVERY_MS);
	}
}

/** While it starts, any trouble means: not yet. */
async function answersQuietly(client: Client): Promise<boolean> {
	try {
		return await answers(client);
	} catch {
		return false;
	}
}

/** What the log has gained since `from`, as its last lines. */
async function lastLines(log: FileHandle, from: number): Promise<readonly string[]> {
	const { size } = await log.stat();
	const start = Math.max(from, size - TOLD_BYTES_MAX);
	const bytes = Buffer.alloc(Math.max(0, size - start));
	await log.read(bytes, 0, bytes.length, start);
	const lines = createSanitizer().write(bytes).trimEnd().split("\n");
	return lines
		.filter((line) => line.trim() !== "")
		.slice(-TOLD_LINES_MAX)
		.map(renderLogLine);
}

/** A line of the daemon's log as a sentence: what happened, and why. Anything else stays as it is. */
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

/** Waits until the daemon neither answers nor lives, so that another can take its place. */
export async function waitForEnd(
	client: Client,
	{ pid }: Pick<DaemonJson, "pid">,
	stopMsMax = STOP_MS_MAX,
): Promise<void> {
	const startedMs = performance.now();
	while ((await isAlive(pid)) || (await answersQuietly(client))) {
		if (performance.now() - startedMs > stopMsMax) {
			const hint = `Its log says what it waits for; \`kill ${pid}\` twice forces it.`;
			const waited = renderElapsed(stopMsMax);
			throw new ReeveError(
				"daemon_failed",
				`the daemon (pid ${pid}) is still there after ${waited}`,
				hint,
			);
		}
		await sleep(LOOK_EVERY_MS);
	}
}

async function isAlive(pid: number): Promise<boolean> {
	try {
		process.kill(pid, 0);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "EPERM";
	}
	// Where nobody reaps it, as in many containers, an ended process keeps its number.
	const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
	return !/\) [ZX] /.test(stat);
}

export function isCode(error: unknown, code: ReeveError["code"]): boolean {
	return error instanceof ReeveError && error.code === code;
}
