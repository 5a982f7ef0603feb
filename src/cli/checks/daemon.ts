/** The daemon, by its own word and by what it wrote down. */

import { type FileHandle, open } from "node:fs/promises";
import { readCrashReports } from "../../client/crash-reports.js";
import { readVersion } from "../../client/version.js";
import { ReeveError } from "../../core/errors.js";
import type { DaemonJson } from "../../http/contract/daemon.js";
import { countOf } from "../arguments.js";
import { localTime } from "../commands/ps.js";
import { type CheckContext, type Finding, fail, ok, warn } from "./check.js";

export async function checkDaemon({ daemon, home }: CheckContext): Promise<Finding> {
	const told = await daemon;
	if (told instanceof ReeveError) {
		if (told.code === "no_daemon")
			return warn("none is running", "reeve up, or reeve daemon start");
		return fail(told.message, told.hint);
	}
	const { pid, version, ready, problems } = told;
	const detail = `pid ${pid}, version ${version}`;
	if (!ready) return warn(`${detail}, not ready: ${problems.join("; ")}`, `see ${home.daemonLog}`);
	const own = readVersion();
	if (version !== own) {
		return warn(`${detail}, but this command is ${own}`, "reeve daemon restart: agents run on");
	}
	if (problems.length === 0) return ok(detail);
	return warn(`${detail}: ${problems.join("; ")}`, `see ${home.daemonLog}`);
}

/** Only the daemon knows: it may be where others are not, and have rights that others have not. */
export async function checkLimits({ daemon, inspection }: CheckContext): Promise<Finding> {
	const told = await daemon;
	if (told instanceof ReeveError) {
		const { limits } = await inspection;
		return ok(`for a daemon that is started from here: ${renderLimits(limits)}`);
	}
	// A daemon of an earlier version does not say.
	const limits: typeof told.limits | undefined = told.limits;
	if (limits === undefined || limits.length === 0) return ok("the daemon does not tell");
	const words = renderLimits(limits);
	if (limits.every(({ enforced }) => enforced === "tree")) return ok(words);
	const fix =
		"run the daemon where control groups are delegated to it (systemd: Delegate=yes), or do without `limits`";
	return warn(words, fix);
}

function renderLimits(limits: DaemonJson["limits"]): string {
	const how = { tree: "enforced", process: "for each process by itself", no: "not enforced" };
	const words = limits.map(
		({ limit, enforced, detail }) => `${limit}: ${how[enforced]} (${detail})`,
	);
	return words.join("; ");
}

/** What can hold a session here, what `auto` takes, and why not another. */
export async function checkBackends({ daemon }: CheckContext): Promise<Finding> {
	const told = await daemon;
	if (told instanceof ReeveError) return ok("a running daemon can tell");
	// A daemon of an earlier version does not say.
	const backends: typeof told.backends | undefined = told.backends;
	if (backends === undefined || backends.length === 0) return ok("the daemon does not tell");
	const words = backends.map(({ name, usable, auto, reason }) => {
		const mark = auto ? " (auto takes it)" : usable ? "" : " (not here)";
		return `${name}${mark}: ${reason}`;
	});
	return ok(words.join("; "));
}

const CRASHES_RECENT_MS = 7 * 24 * 60 * 60 * 1_000;

/** Daemons of this home that died within a week. */
export async function checkCrashes({ home }: CheckContext): Promise<Finding> {
	const reports = await readCrashReports(home);
	const recent = reports.filter(
		({ report }) => Date.parse(report.at) > Date.now() - CRASHES_RECENT_MS,
	);
	const [last] = recent;
	if (last === undefined) return ok("no daemon has died within a week");
	const { cause, message, at } = last.report;
	return warn(
		`${countOf(recent.length, "daemon")} died within a week, the last ${localTime(at)} of ${cause}: ${shorten(message)}`,
		`see ${last.path}`,
	);
}

const LOG_BYTES_MAX = 256 * 1024;
const RECENT_MS = 24 * 60 * 60 * 1_000;
const SHOWN_CHARS_MAX = 160;

/** Errors of the last day, from the end of its log. */
export async function checkLog({ home: { daemonLog } }: CheckContext): Promise<Finding> {
	const text = await readEnd(daemonLog);
	if (text === null) return ok("the daemon has written none yet");
	const errors = text.split("\n").flatMap((line) => parseError(line, Date.now() - RECENT_MS));
	const last = errors.at(-1);
	if (last === undefined) return ok(`${daemonLog}: no errors within a day`);
	return warn(
		`${countOf(errors.length, "error")} within a day, the last: ${shorten(last)}`,
		`see ${daemonLog}`,
	);
}

const shorten = (text: string) =>
	text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;

function parseError(line: string, sinceMs: number): string[] {
	if (!line.includes('"error"')) return [];
	try {
		const { at, level, msg, error } = JSON.parse(line) as Record<string, unknown>;
		if (level !== "error" || Date.parse(String(at)) < sinceMs) return [];
		return [`${String(msg)}: ${String(error).split("\n")[0]}`];
	} catch {
		return [];
	}
}

async function readEnd(path: string): Promise<string | null> {
	let file: FileHandle | null = null;
	try {
		file = await open(path, "r");
		const { size } = await file.stat();
		const start = Math.max(0, size - LOG_BYTES_MAX);
		const bytes = Buffer.alloc(size - start);
		const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
		return bytes.toString("utf8", 0, bytesRead);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	} finally {
		await file?.close();
	}
}
