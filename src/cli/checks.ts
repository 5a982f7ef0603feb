/** What `reeve doctor` looks at, from outside of the daemon: one function per question. */

import { execFile } from "node:child_process";
import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { Home } from "../client/home.js";
import { readVersion } from "../client/version.js";
import { ReeveError } from "../core/errors.js";
import type { DaemonJson } from "../http/contract/daemon.js";
import { countOf } from "./arguments.js";
import { connect, SOCKET_BYTES_MAX } from "./connect.js";
import { isCode } from "./daemon-process.js";

export interface Check {
	readonly name: string;
	readonly status: "ok" | "warn" | "fail";
	readonly detail: string;
	/** What to do about it, where something is to be done. */
	readonly fix: string | null;
}

type Finding = Omit<Check, "name">;

export interface CheckContext {
	readonly home: Home;
	readonly env: NodeJS.ProcessEnv;
	/** The fleet file. */
	readonly file: string;
}

const NODE_MIN = [20, 19] as const;
const TMUX_MIN = [3, 2] as const;
const TMUX_MS_MAX = 3_000;
const DAEMON_MS_MAX = 3_000;
const FREE_BYTES_MIN = 100 * 2 ** 20;
const FREE_BYTES_LOW = 2 ** 30;

const CHECKS: Readonly<Record<string, (context: CheckContext) => Finding | Promise<Finding>>> = {
	node: () => checkNode(process.versions.node),
	tmux: checkTmux,
	home: checkHome,
	socket: checkSocket,
	disk: checkDisk,
	daemon: checkDaemon,
	limits: checkLimits,
	"fleet file": checkFleetFile,
};

export async function runChecks(context: CheckContext): Promise<readonly Check[]> {
	return Promise.all(
		Object.entries(CHECKS).map(async ([name, check]) => {
			try {
				return { name, ...(await check(context)) };
			} catch (error) {
				const detail = error instanceof Error ? error.message : String(error);
				return { name, ...fail(`cannot be checked: ${detail}`, null) };
			}
		}),
	);
}

const ok = (detail: string): Finding => ({ status: "ok", detail, fix: null });
const warn = (detail: string, fix: string | null): Finding => ({ status: "warn", detail, fix });
const fail = (detail: string, fix: string | null): Finding => ({ status: "fail", detail, fix });

export function checkNode(version: string): Finding {
	const detail = `Node ${version}`;
	if (isAtLeast(version, NODE_MIN)) return ok(detail);
	return fail(detail, `install Node ${NODE_MIN.join(".")} or newer`);
}

async function checkTmux({ env }: CheckContext): Promise<Finding> {
	const install =
		"install tmux (apt install tmux, brew install tmux), or leave it: pty needs nothing";
	try {
		const { stdout } = await promisify(execFile)("tmux", ["-V"], { env, timeout: TMUX_MS_MAX });
		return judgeTmux(stdout.trim());
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") {
			return warn("tmux is not installed: sessions use the pty backend", install);
		}
		return warn("tmux is installed but does not run", "try `tmux -V`");
	}
}

export function judgeTmux(version: string): Finding {
	// `tmux next-3.6` and `tmux master` are newer than any release.
	const number = /(\d+\.\d+)/.exec(version)?.[1];
	if (number === undefined || isAtLeast(number, TMUX_MIN)) return ok(version);
	return warn(`${version} is old`, `install tmux ${TMUX_MIN.join(".")} or newer`);
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
	const [hasMajor = 0, hasMinor = 0] = version.split(".").map(Number);
	return hasMajor > major || (hasMajor === major && hasMinor >= minor);
}

async function checkHome({ home: { dir } }: CheckContext): Promise<Finding> {
	const found = await statIfThere(dir);
	if (found === null) return ok(`${dir} will be made by the first \`reeve up\``);
	if (!found.isDirectory()) {
		return fail(`${dir} is not a directory`, "move it away, or set REEVE_HOME to another place");
	}
	const uid = process.getuid?.();
	if (uid !== undefined && found.uid !== uid) {
		const fix = "run as its owner, or set REEVE_HOME to a folder of your own";
		return fail(`${dir} belongs to another user (uid ${found.uid})`, fix);
	}
	const mode = (found.mode & 0o777).toString(8).padStart(3, "0");
	if ((found.mode & 0o077) !== 0) {
		return fail(`${dir} is open to others (mode ${mode})`, `chmod 700 ${quote(dir)}`);
	}
	return ok(`${dir} (mode ${mode})`);
}

function checkSocket({ home: { socket } }: CheckContext): Finding {
	const length = Buffer.byteLength(socket);
	const detail = `the path has ${length} of at most ${SOCKET_BYTES_MAX} bytes`;
	return length <= SOCKET_BYTES_MAX ? ok(detail) : fail(detail, "set REEVE_HOME to a shorter path");
}

async function checkDisk({ home: { dir } }: CheckContext): Promise<Finding> {
	const { bavail, bsize } = await statfs(await nearestExisting(dir));
	const freeBytes = bavail * bsize;
	const detail = `${Math.round(freeBytes / 2 ** 20)} MiB free for the home`;
	const fix = "make room: the daemon stops recording when the disk is full";
	if (freeBytes < FREE_BYTES_MIN) return fail(detail, fix);
	return freeBytes < FREE_BYTES_LOW ? warn(detail, fix) : ok(detail);
}

async function checkDaemon({ env, home }: CheckContext): Promise<Finding> {
	try {
		const { client } = connect(env);
		const signal = AbortSignal.timeout(DAEMON_MS_MAX);
		const { pid, version, ready, problems } = await client.call("GET /api/v1/daemon", { signal });
		const detail = `pid ${pid}, version ${version}`;
		if (!ready)
			return warn(`${detail}, not ready: ${problems.join("; ")}`, `see ${home.daemonLog}`);
		const own = readVersion();
		if (version !== own) {
			return warn(`${detail}, but this command is ${own}`, "reeve daemon restart: agents run on");
		}
		if (problems.length === 0) return ok(detail);
		return warn(`${detail}: ${problems.join("; ")}`, `see ${home.daemonLog}`);
	} catch (error) {
		if (isCode(error, "no_daemon")) {
			return warn("none is running", "reeve up, or reeve daemon start");
		}
		if (error instanceof ReeveError) return fail(error.message, error.hint);
		throw error;
	}
}

/** Only the daemon knows: it may be where others are not, and have rights that others have not. */
async function checkLimits({ env }: CheckContext): Promise<Finding> {
	let limits: DaemonJson["limits"] | undefined;
	try {
		const signal = AbortSignal.timeout(DAEMON_MS_MAX);
		({ limits } = await connect(env).client.call("GET /api/v1/daemon", { signal }));
	} catch {
		return ok("a running daemon can tell");
	}
	// A daemon of an earlier version does not say.
	if (limits === undefined || limits.length === 0) return ok("the daemon does not tell");
	const told = limits.map(({ limit, enforced, detail }) => {
		const how = { tree: "enforced", process: "for each process by itself", no: "not enforced" };
		return `${limit}: ${how[enforced]} (${detail})`;
	});
	if (limits.every(({ enforced }) => enforced === "tree")) return ok(told.join("; "));
	const fix =
		"run the daemon where control groups are delegated to it (systemd: Delegate=yes), or do without `limits`";
	return warn(told.join("; "), fix);
}

async function checkFleetFile({ file, env }: CheckContext): Promise<Finding> {
	if ((await statIfThere(file)) === null) {
		return ok(`no ${file} here (\`reeve init\` writes one)`);
	}
	const { loadFleetFile } = await import("./read-fleet.js");
	const loaded = await loadFleetFile(file, env);
	if (loaded.ok) return ok(`${file}: ${countOf(loaded.fleet.agents.length, "agent")}`);
	const problems = countOf(loaded.problems.length, "problem");
	return fail(`${file} has ${problems}`, `reeve validate ${quote(file)}`);
}

async function statIfThere(path: string) {
	try {
		return await stat(path);
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
		throw error;
	}
}

async function nearestExisting(path: string): Promise<string> {
	let at = path;
	while (at !== dirname(at) && (await statIfThere(at)) === null) at = dirname(at);
	return at;
}

/** As a word of a command line that may be copied. */
function quote(word: string): string {
	return /^[\w./:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
