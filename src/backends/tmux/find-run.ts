/**
 * The state of a run: by the record of its exit, then by its processes, then by tmux, then by the mark
 * that its processes carry. "Gone" is only returned if all of them were checked (S1).
 */

import { isAlive, readBootId } from "../../host/process-identity.js";
import { nextProcessTable, type ProcessTable } from "../../host/process-table.js";
import type { Recovered, RunExit, RunHandle } from "../../ports/backend.js";
import { createHandle, launcherOf, sessionOf } from "./handle.js";
import { ENDED_UNSEEN, parseEnded, parseStarted, readStatus } from "./launcher.js";
import type { RunFiles } from "./run-files.js";
import { readClaim, readHandle } from "./start-run.js";
import type { TmuxPlace } from "./tmux-place.js";
import type { Pane } from "./tmux-server.js";

/** How long a launcher may take to record an exit, or a start in progress. */
const REPORT_MS_MAX = 5_000;

/** The recorded exit of a run; null if there is none. */
export function readExit(files: RunFiles, runId: string): RunExit | null {
	const report = files.read(runId, "exit");
	const ended = report === null ? null : parseEnded(report.text);
	if (report === null || ended === null) return null;
	// File times are slightly coarser than the clock.
	const startedAtMs = readHandle(files, runId)?.startedAtMs ?? 0;
	return { runId, ...ended, atMs: Math.max(report.atMs, startedAtMs) };
}

export async function findRun(
	place: TmuxPlace,
	runId: string,
	given: RunHandle | null,
): Promise<Recovered> {
	const { files, server } = place;
	const ended = () => {
		const exit = readExit(files, runId);
		return exit === null ? null : ({ state: "exited", exit } as const);
	};
	const early = ended();
	if (early !== null) return early;
	const known = readHandle(files, runId) ?? given;
	const bootId = known?.process.bootId ?? readClaim(files, runId)?.bootId;
	if (bootId !== undefined && bootId !== readBootId()) return { state: "gone", rebooted: true };
	if (known !== null && isAlive(known.process) === true) return { state: "running", handle: known };

	let pane: Pane | undefined;
	let serverPid: number | null;
	try {
		const listing = await server.panes();
		pane = listing.panes.get(sessionOf(runId));
		serverPid = pane === undefined ? null : listing.serverPid;
	} catch (error) {
		return ended() ?? { state: "unknown", reason: (error as Error).message };
	}
	const found =
		known === null
			? await findUnconfirmed(place, { runId, serverPid, pane })
			: await findKnown(files, known, pane);
	return ended() ?? found;
}

/** The agent's own process is gone, or cannot be inspected. */
async function findKnown(
	files: RunFiles,
	handle: RunHandle,
	pane: Pane | undefined,
): Promise<Recovered> {
	const { runId } = handle;
	const launcher = launcherOf(handle);
	if (launcher !== null && isAlive(launcher) !== false) {
		const said = await files.waitFor(runId, ["exit"], REPORT_MS_MAX);
		if (said === null) return { state: "unknown", reason: "its exit is not recorded yet" };
	}
	if (isAlive(handle.process) === "unknown") {
		return { state: "unknown", reason: "its process cannot be inspected" };
	}
	if (pane?.status === null || pane === undefined) return { state: "gone", rebooted: false };
	const exit = { runId, ...readStatus(pane.status), atMs: Date.now(), outOfMemory: false };
	return { state: "exited", exit };
}

/** The state of a run in tmux. */
interface Looked {
	readonly runId: string;
	/** The server that has its pane. */
	readonly serverPid: number | null;
	readonly pane: Pane | undefined;
}

/** Its starter died before it could write the handle. */
async function findUnconfirmed(place: TmuxPlace, looked: Looked): Promise<Recovered> {
	const { files } = place;
	const { runId, pane } = looked;
	if (pane !== undefined && !pane.dead) {
		await files.waitFor(runId, ["started", "failed", "exit"], REPORT_MS_MAX);
	}
	const table = await nextProcessTable();
	const handle = findStarted(place, looked, table) ?? findMarked(place, looked, table);
	if (handle !== null) {
		try {
			files.write(runId, "handle", JSON.stringify(handle));
		} catch {
			// Only a cache for the next lookup; a full disk must not hide a live run.
		}
		return { state: "running", handle };
	}
	const ended = await findEnded(place, looked);
	if (ended !== null) return ended;
	if (isBeingStarted(files, runId) || (pane !== undefined && !pane.dead)) {
		return { state: "unknown", reason: "it is still starting" };
	}
	// Its start specification may contain secrets.
	if (!files.has(runId, "exit")) files.remove(runId);
	return { state: "gone", rebooted: false };
}

/** The launcher recorded that the agent runs, and its process is gone: nobody may know how it ended, but it was started. */
async function findEnded(place: TmuxPlace, looked: Looked): Promise<Recovered | null> {
	const { runId, pane } = looked;
	const report = place.files.read(runId, "started");
	const started = report === null ? null : parseStarted(report.text);
	if (report === null || started === null) return null;
	const facts = { ...unconfirmed(place, looked), ...started, startedAtMs: report.atMs };
	const found = await findKnown(place.files, createHandle(facts), pane);
	if (found.state !== "gone") return found;
	place.files.recordEnd(runId, ENDED_UNSEEN);
	const how = { code: null, signal: null, outOfMemory: false };
	return { state: "exited", exit: { runId, ...how, atMs: Date.now() } };
}

/**
 * Whether a process that claimed to start the run may still do so. This process is not asked for what it is starting
 * now, so a claim of its own is one that it gave up; the launcher may be a moment behind.
 */
function isBeingStarted(files: RunFiles, runId: string): boolean {
	const claim = readClaim(files, runId);
	if (claim === null || isAlive(claim) === false) return false;
	const isOwn = claim.pid === process.pid;
	return !isOwn || Date.now() - (files.read(runId, "claim")?.atMs ?? 0) < REPORT_MS_MAX;
}

/** By the launcher's word, if the numbers still stand for the same processes (S10). */
function findStarted(place: TmuxPlace, looked: Looked, table: ProcessTable): RunHandle | null {
	const { runId } = looked;
	const report = place.files.read(runId, "started");
	const started = report === null ? null : parseStarted(report.text);
	if (report === null || started === null) return null;
	if (table.runIdOf(started.pid) !== runId) return null;
	return createHandle({ ...unconfirmed(place, looked), ...started, startedAtMs: report.atMs });
}

function findMarked(place: TmuxPlace, looked: Looked, table: ProcessTable): RunHandle | null {
	const { runId } = looked;
	const marked = table.entries.filter(({ ended, pid }) => !ended && table.runIdOf(pid) === runId);
	const pids = new Set(marked.map(({ pid }) => pid));
	// A process whose parent is outside of the run is the started one, or what is left of it.
	const eldest = marked.find(({ ppid }) => !pids.has(ppid));
	if (eldest === undefined) return null;
	const facts = { ...unconfirmed(place, looked), pid: eldest.pid, launcherPid: null };
	return createHandle({ ...facts, startedAtMs: Date.now() });
}

const unconfirmed = ({ name, groups }: TmuxPlace, { runId, serverPid }: Looked) => ({
	backend: name,
	runId,
	serverPid,
	terminal: true,
	groups: groups.find(runId),
	missingLimits: [],
});
