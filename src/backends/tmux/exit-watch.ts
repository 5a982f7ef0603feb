/**
 * Detects the exits of runs, from two sources: the launcher's record, and tmux with the processes
 * themselves. The first one wins, and each exit is reported once (S8), after all output is in the log.
 *
 * A run that lost its terminal, with the server or by a user, is asked to exit and killed after a grace
 * period (S12); one without a terminal is watched until it exits.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { readOomKills } from "../../host/cgroup-members.js";
import { isAlive } from "../../host/process-identity.js";
import { killTree, signalVerified, signalWorkers, watchTree } from "../../host/process-tree.js";
import type { RunExit, RunHandle } from "../../ports/backend.js";
import { readExit } from "./find-run.js";
import { groupsOf, hasTerminal, launcherOf, serverOf, sessionOf } from "./handle.js";
import { ENDED_UNSEEN, readStatus, renderEnded } from "./launcher.js";
import type { TmuxPlace } from "./tmux-place.js";
import type { Pane } from "./tmux-server.js";

interface Watched {
	/** Null until the start is confirmed. */
	handle: RunHandle | null;
	isEnding: boolean;
	/** Steady time at which it was asked to exit. */
	orphanedAtMs: number | null;
	/** Whether its pane was found dead without a status. */
	wasSilent: boolean;
}

/** Only for exits that neither the launcher nor tmux has reported. */
const SWEEP_MS = 5_000;
const SOON_MS = 50;
const ORPHAN_LOOK_MS = 250;
/** Output that tmux has not read by then is held back by another process. */
const DRAIN_MS_MAX = 2_000;
const REAPED_PER_PRUNE = 1_000;
const LOGGED_MS_MAX = 5_000;

export class ExitWatch {
	readonly #place: TmuxPlace;
	readonly #orphanGraceMs: number;
	readonly #onExit: (exit: RunExit) => void;
	readonly #runs = new Map<string, Watched>();
	readonly #reaping = new Set<Promise<void>>();
	/** Groups that could not be removed, because a process of the run is still there. */
	readonly #leftGroups = new Set<readonly string[]>();
	#sweep: NodeJS.Timeout | null = null;
	#orphanLook: NodeJS.Timeout | null = null;
	#soon: NodeJS.Timeout | null = null;
	#reaped = 0;
	#isLooking = false;
	#looksAgain = false;
	#isClosed = false;

	constructor(place: TmuxPlace, orphanGraceMs: number, onExit: (exit: RunExit) => void) {
		this.#place = place;
		this.#orphanGraceMs = orphanGraceMs;
		this.#onExit = onExit;
	}

	/** From now on the run's exit is reported. With a null handle it is about to be started. */
	add(runId: string, handle: RunHandle | null): void {
		const known = this.#runs.get(runId);
		if (known === undefined) {
			this.#runs.set(runId, { handle, isEnding: false, orphanedAtMs: null, wasSilent: false });
		} else known.handle ??= handle;
		this.#sweep ??= setInterval(() => this.look(), SWEEP_MS).unref();
		// It may have exited before it was watched.
		if (handle !== null && this.#place.files.has(runId, "exit")) this.onRecord(runId);
	}

	has = (runId: string) => this.#runs.has(runId);

	remove(runId: string): void {
		this.#runs.delete(runId);
	}

	/** The launcher has recorded an exit. */
	onRecord(runId: string): void {
		const run = this.#runs.get(runId);
		if (run?.handle) void this.#end(runId, run, run.handle);
	}

	/** A pane has died. Its launcher usually reports more, so this can wait. */
	lookSoon(): void {
		this.#soon ??= setTimeout(() => {
			this.#soon = null;
			this.look();
		}, SOON_MS);
	}

	/** Checks all panes, and again if requested in the meantime. */
	look(): void {
		if (this.#isLooking) {
			this.#looksAgain = true;
			return;
		}
		this.#isLooking = true;
		void this.#lookAtAll().finally(() => {
			this.#isLooking = false;
			if (this.#looksAgain && !this.#isClosed) this.look();
			this.#looksAgain = false;
		});
	}

	/** Resolves when pending cleanups are done, or after a while. */
	async close(): Promise<void> {
		this.#isClosed = true;
		if (this.#sweep !== null) clearInterval(this.#sweep);
		for (const timer of [this.#orphanLook, this.#soon]) if (timer !== null) clearTimeout(timer);
		this.#runs.clear();
		await Promise.race([
			Promise.all(this.#reaping),
			sleep(DRAIN_MS_MAX, undefined, { ref: false }),
		]);
	}

	/** Removes an ended run from tmux, once all its output is in the log. */
	async reap(runId: string, terminal: boolean): Promise<void> {
		const reaped = this.#reap(runId, terminal);
		this.#reaping.add(reaped);
		await reaped;
		this.#reaping.delete(reaped);
	}

	/** Never rejects. */
	async #reap(runId: string, terminal: boolean): Promise<void> {
		const { files, server } = this.#place;
		const session = sessionOf(runId);
		try {
			const deadlineMs = performance.now() + DRAIN_MS_MAX;
			let pane = await server.pane(session);
			for (let pauseMs = 1; pane?.dead === false && performance.now() < deadlineMs; pauseMs *= 2) {
				await sleep(Math.min(pauseMs, 50));
				pane = await server.pane(session);
			}
			if (pane !== undefined) await server.kill(session);
			if (terminal && files.has(runId, "logs")) {
				await files.waitFor(runId, ["logged"], LOGGED_MS_MAX);
			}
		} catch {
			// Without a server there is nothing to remove.
		}
		// Not `logged`: another caller may be waiting for it.
		files.remove(runId, ["logs", "started"]);
		if (++this.#reaped % REAPED_PER_PRUNE === 0) files.prune();
	}

	async #lookAtAll(): Promise<void> {
		for (const paths of this.#leftGroups) {
			if (this.#place.groups.remove(paths)) this.#leftGroups.delete(paths);
		}
		// Only those that existed before the panes were listed.
		const runs = [...this.#runs].filter(([, { handle, isEnding }]) => handle && !isEnding);
		if (runs.length === 0) return;
		try {
			const { panes, serverPid } = await this.#place.server.panes();
			for (const [runId, run] of runs) {
				const pane = panes.get(sessionOf(runId));
				if (run.handle && pane === undefined && isElsewhere(run.handle, serverPid)) continue;
				if (run.handle && pane?.dead !== false)
					await this.#onPaneLost(runId, run, run.handle, pane);
			}
		} catch {
			// tmux does not respond now; the next sweep retries.
		}
		const hasOrphans = [...this.#runs.values()].some(({ orphanedAtMs }) => orphanedAtMs !== null);
		if (!hasOrphans || this.#isClosed) return;
		if (this.#orphanLook !== null) clearTimeout(this.#orphanLook);
		this.#orphanLook = setTimeout(() => this.look(), ORPHAN_LOOK_MS);
	}

	async #onPaneLost(runId: string, run: Watched, handle: RunHandle, pane?: Pane): Promise<void> {
		const { files } = this.#place;
		if (run.isEnding) return;
		if (files.has(runId, "exit")) return this.onRecord(runId);
		const launcher = launcherOf(handle);
		const alive = [isAlive(handle.process), launcher !== null && isAlive(launcher)];
		if (alive.includes(true)) return this.#endOrphan(run, handle);
		if (alive.includes("unknown")) return;
		// The record first, since it is written before the launcher exits.
		if (files.has(runId, "exit")) return this.onRecord(runId);
		// tmux may miss the exit of a pane's process until another one exits.
		const isSilent = pane !== undefined && pane.status === null && pane.signal === null;
		if (isSilent && !run.wasSilent) {
			run.wasSilent = true;
			return;
		}
		const end = pane?.status == null ? null : readStatus(pane.status);
		files.recordEnd(runId, end === null ? ENDED_UNSEEN : renderEnded(end));
		const how = { code: null, signal: null, ...end, outOfMemory: false };
		const exit = { runId, ...how, atMs: Date.now() };
		void this.#end(runId, run, handle, exit);
	}

	async #endOrphan(run: Watched, handle: RunHandle): Promise<void> {
		if (!hasTerminal(handle)) return;
		const nowMs = performance.now();
		if (run.orphanedAtMs === null) {
			run.orphanedAtMs = nowMs;
			await signalWorkers(watchTree(treeFor(handle)), handle.process, "SIGTERM");
		} else if (nowMs - run.orphanedAtMs > this.#orphanGraceMs) {
			await killTree(treeFor(handle));
		}
	}

	async #end(
		runId: string,
		run: Watched,
		handle: RunHandle,
		seen: RunExit | null = readExit(this.#place.files, runId),
	): Promise<void> {
		if (run.isEnding || seen === null) return;
		run.isEnding = true;
		const wasKilled = seen.signal === "SIGKILL" || seen.code === 137;
		const groups = groupsOf(handle);
		const outOfMemory =
			seen.outOfMemory || (wasKilled && groups.some((path) => readOomKills(path) > 0));
		await this.reap(runId, hasTerminal(handle));
		if (groups.length > 0 && !this.#place.groups.remove(groups)) this.#leftGroups.add(groups);
		if (this.#runs.get(runId) === run) this.#runs.delete(runId);
		if (!this.#isClosed) this.#onExit({ ...seen, outOfMemory });
	}
}

/**
 * Whether a live server that was not queried, because its socket is gone, owns the run's terminal: then
 * the run has lost nothing. The signal makes such a server recreate its socket.
 */
function isElsewhere(handle: RunHandle, askedPid: number | null): boolean {
	const server = serverOf(handle);
	if (server === null || server.pid === askedPid || isAlive(server) !== true) return false;
	if (askedPid === null) signalVerified(server, "SIGUSR1");
	return isAlive(handle.process) !== false;
}

const treeFor = (handle: RunHandle) => ({
	runId: handle.runId,
	root: handle.process,
	keeper: launcherOf(handle),
	groups: groupsOf(handle),
});
