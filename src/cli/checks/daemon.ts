/** Checks of the daemon, from its own status and its files. */

import { type FileHandle, open } from "node:fs/promises";
import { homedir } from "node:os";
import { loadSettings } from "../../config/load-settings.js";
import { renderProblemLine } from "../../config/problem.js";
import { ReeveError } from "../../core/errors.js";
import { readCrashReports } from "../../home/crash-reports.js";
import { readVersion } from "../../home/version.js";
import type { DaemonJson } from "../../http/contract/daemon.js";
import { countOf } from "../arguments.js";
import { localTime } from "../commands/ps.js";
import { type CheckContext, type Finding, fail, ok, warn } from "./check.js";

export async function checkDaemon({ daemon, home }: CheckContext): Promise<Finding> {
	const reply = await daemon;
	if (reply instanceof ReeveError) {
		if (reply.code === "no_daemon")
			return warn("not running", "run `reeve up` or `reeve daemon start`");
		return fail(reply.message, reply.hint);
	}
	const { pid, version, ready, problems } = reply;
	const detail = `pid ${pid}, version ${version}`;
	if (!ready) return warn(`${detail}, not ready: ${problems.join("; ")}`, `see ${home.daemonLog}`);
	const own = readVersion();
	if (version !== own) {
		return warn(
			`${detail}, but this CLI has version ${own}`,
			"run `reeve daemon restart`; agents keep running",
		);
	}
	if (problems.length === 0) return ok(detail);
	return warn(`${detail}: ${problems.join("; ")}`, `see ${home.daemonLog}`);
}

/** The settings of this home, and whether the daemon uses them. */
export async function checkSettings({ home }: CheckContext): Promise<Finding> {
	const loaded = await loadSettings(home.settings, homedir());
	if (!loaded.ok) {
		const problems = loaded.problems.map(renderProblemLine).join("; ");
		return fail(problems, "fix the file, then run `reeve daemon reload`");
	}
	const { listen, notify } = loaded.settings;
	const routes = notify.length === 0 ? "no notifications" : countOf(notify.length, "route");
	return ok(`${home.settings}: ${listen === null ? "socket only" : "listens on TCP"}, ${routes}`);
}

/** Only the daemon knows: it may run in another control group and with other permissions. */
export async function checkLimits({ daemon, inspection }: CheckContext): Promise<Finding> {
	const reply = await daemon;
	if (reply instanceof ReeveError) {
		const { limits } = await inspection;
		return ok(`for a daemon started from this shell: ${renderLimits(limits)}`);
	}
	// A daemon of an earlier version does not report it.
	const limits: typeof reply.limits | undefined = reply.limits;
	if (limits === undefined || limits.length === 0) return ok("not reported by this daemon version");
	const words = renderLimits(limits);
	if (limits.every(({ enforced }) => enforced === "tree")) return ok(words);
	const fix =
		"run the daemon where control groups are delegated to it (systemd: Delegate=yes), or remove `limits`";
	return warn(words, fix);
}

function renderLimits(limits: DaemonJson["limits"]): string {
	const how = { tree: "enforced", process: "per process only", no: "not enforced" };
	const words = limits.map(
		({ limit, enforced, detail }) => `${limit}: ${how[enforced]} (${detail})`,
	);
	return words.join("; ");
}

/** The available backends, the one that `auto` selects, and why the others are not used. */
export async function checkBackends({ daemon }: CheckContext): Promise<Finding> {
	const reply = await daemon;
	if (reply instanceof ReeveError) return ok("only a running daemon can report this");
	// A daemon of an earlier version does not report it.
	const backends: typeof reply.backends | undefined = reply.backends;
	if (backends === undefined || backends.length === 0)
		return ok("not reported by this daemon version");
	const words = backends.map(({ name, usable, auto, reason }) => {
		const mark = auto ? " (used by auto)" : usable ? "" : " (not available)";
		return `${name}${mark}: ${reason}`;
	});
	return ok(words.join("; "));
}

const CRASHES_RECENT_MS = 7 * 24 * 60 * 60 * 1_000;

/** Daemons of this home that crashed within a week. */
export async function checkCrashes({ home }: CheckContext): Promise<Finding> {
	const reports = await readCrashReports(home);
	const recent = reports.filter(
		({ report }) => Date.parse(report.at) > Date.now() - CRASHES_RECENT_MS,
	);
	const [last] = recent;
	if (last === undefined) return ok("no daemon crashed in the last 7 days");
	const { cause, message, at } = last.report;
	return warn(
		`${countOf(recent.length, "daemon")} crashed in the last 7 days, most recently at ${localTime(at)} (${cause}): ${shorten(message)}`,
		`see ${last.path}`,
	);
}

const LOG_BYTES_MAX = 256 * 1024;
const RECENT_MS = 24 * 60 * 60 * 1_000;
const SHOWN_CHARS_MAX = 160;

/** Errors of the last day, from the end of its log. */
export async function checkLog({ home: { daemonLog } }: CheckContext): Promise<Finding> {
	const text = await readEnd(daemonLog);
	if (text === null) return ok("not written yet");
	const errors = text.split("\n").flatMap((line) => parseError(line, Date.now() - RECENT_MS));
	const last = errors.at(-1);
	if (last === undefined) return ok(`${daemonLog}: no errors in the last 24 hours`);
	return warn(
		`${countOf(errors.length, "error")} in the last 24 hours, most recently: ${shorten(last)}`,
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
