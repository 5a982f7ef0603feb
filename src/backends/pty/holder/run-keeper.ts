/**
 * All runs of a holder. Starts each id once (S1) and records every end before telling of it (S8), also
 * the ends of runs that an earlier holder has left; of those, code and signal are null.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Groups } from "../../../host/cgroup.js";
import { readBootId, readIdentity } from "../../../host/process-identity.js";
import { checkLaunch, explainSpawnError } from "../../../host/spawn-errors.js";
import type {
	ProcessIdentity,
	Recovered,
	RunExit,
	RunHandle,
	StartRequest,
	StartResult,
} from "../../../ports/backend.js";
import { groupsOf, handleData } from "../handle.js";
import { findLeftRuns, type LeftRun, outlive } from "./left-runs.js";
import { type ExitRecord, isRunId, type Records } from "./records.js";
import { type OnRunEnd, type Run, startRun } from "./run.js";

export interface KeeperOptions {
	readonly records: Records;
	readonly groups: Groups;
	/** How long a run that lost its terminal may take to end by itself. */
	readonly orphanGraceMs: number;
	/** Called once for each exit, after it is on the disk unless the disk does not take it. */
	onExit(exit: RunExit): void;
	/** Something for the holder's log; never a value of an environment. */
	onTrouble(message: string): void;
	/** Called when `count` has changed. */
	onCount(): void;
}

const RETRY_MS = 2_000;

export class RunKeeper {
	readonly #options: KeeperOptions;
	readonly #live = new Map<string, { readonly run: Run; readonly handle: RunHandle }>();
	readonly #starting = new Map<string, Promise<StartResult>>();
	readonly #left = new Map<string, LeftRun>();
	/** Ended, and not yet on the disk. */
	readonly #unsaved = new Map<string, ExitRecord>();
	/** Groups that could not be removed, since something of the run is still there. */
	readonly #leftGroups = new Set<readonly string[]>();

	constructor(options: KeeperOptions) {
		this.#options = options;
		for (const run of findLeftRuns(options.records, options.groups)) {
			void this.#follow(run).catch((error: Error) => {
				options.onTrouble(`${run.runId}: ${error.message}`);
			});
		}
		options.groups.sweep();
	}

	/** How many runs are alive, or ended and not yet recorded. */
	get count(): number {
		return this.#live.size + this.#starting.size + this.#left.size + this.#unsaved.size;
	}

	async start(request: StartRequest): Promise<StartResult> {
		const { runId } = request;
		if (!isRunId(runId)) {
			return { ok: false, failure: { permanent: true, detail: `not a run id: ${runId}` } };
		}
		const inProgress = this.#starting.get(runId);
		if (inProgress !== undefined) return inProgress;
		const known = this.#liveHandle(runId) ?? this.#readEnded(runId)?.handle;
		if (known !== undefined) return { ok: true, handle: known };
		const begun = this.#begin(request);
		this.#starting.set(runId, begun);
		try {
			return await begun;
		} finally {
			this.#starting.delete(runId);
			this.#options.onCount();
		}
	}

	find(runId: string): Recovered {
		if (!isRunId(runId)) return { state: "gone", rebooted: false };
		if (this.#starting.has(runId)) return { state: "unknown", reason: "it is being started" };
		const handle = this.#liveHandle(runId);
		if (handle !== undefined) return { state: "running", handle };
		const ended = this.#readEnded(runId);
		if (ended !== null) return { state: "exited", exit: ended.exit };
		const bootId = this.#options.records.readRun(runId)?.handle?.process.bootId;
		return { state: "gone", rebooted: bootId !== undefined && bootId !== readBootId() };
	}

	/** The terminal of a live run; null when it has none. */
	terminalOf(runId: string): Run["terminal"] {
		return this.#live.get(runId)?.run.terminal ?? null;
	}

	forget(runId: string): void {
		if (isRunId(runId)) this.#options.records.forget(runId);
	}

	/** Small chores, to be done a few times a second. */
	tidy(): void {
		for (const { run } of this.#live.values()) run.trim();
		for (const paths of this.#leftGroups) {
			if (this.#options.groups.remove(paths)) this.#leftGroups.delete(paths);
		}
	}

	async #begin(request: StartRequest): Promise<StartResult> {
		const { runId, limits } = request;
		const { records, groups } = this.#options;
		const problem = checkLaunch(request);
		if (problem !== null) return { ok: false, failure: problem };
		const notRecorded = this.#record(request, null);
		// A run that nobody could find again is not started.
		if (notRecorded !== null) {
			return { ok: false, failure: { permanent: false, detail: notRecorded } };
		}
		const runGroups = groups.create(runId, limits);
		const startedAtMs = Date.now();
		let run: Run;
		let onEnd: OnRunEnd = () => {};
		const ended = new Promise<Parameters<OnRunEnd>>((resolve) => {
			onEnd = (...facts) => resolve(facts);
		});
		try {
			run = await startRun(request, runGroups, onEnd);
		} catch (error) {
			this.#removeGroups(runGroups.paths);
			records.removeRun(runId);
			return { ok: false, failure: explainSpawnError(error, request) };
		}
		const missingLimits = runGroups.applyLimits(limits);
		const handle: RunHandle = {
			backend: "pty",
			runId,
			process: readIdentity(run.pid) ?? endedIdentity(run.pid),
			startedAtMs,
			data: handleData(runGroups.paths, missingLimits),
		};
		this.#live.set(runId, { run, handle });
		const troubles = [...missingLimits, ...[this.#record(request, handle) ?? []].flat()];
		for (const trouble of troubles) this.#options.onTrouble(`${runId}: ${trouble}`);
		void ended.then(([end, atMs]) => {
			const wasKilled = end.signal === "SIGKILL" || end.code === 137;
			const outOfMemory = wasKilled && runGroups.countOomKills() > 0;
			return this.#finish({ exit: { runId, ...end, atMs, outOfMemory }, handle });
		});
		return { ok: true, handle };
	}

	/** Null, or why it could not be done. */
	#record({ runId, terminal, logDir }: StartRequest, handle: RunHandle | null): string | null {
		try {
			this.#options.records.putRun({ runId, handle, terminal, logDir });
			return null;
		} catch (error) {
			return `the run cannot be recorded: ${(error as Error).message}`;
		}
	}

	/** The end of a run. Tried again until the disk has it; those who listen hear of it once. */
	async #finish(record: ExitRecord): Promise<void> {
		const { runId } = record.exit;
		this.#unsaved.set(runId, record);
		this.#live.delete(runId);
		this.#left.delete(runId);
		this.#removeGroups(groupsOf(record.handle));
		let isTold = false;
		while (this.#unsaved.has(runId)) {
			try {
				await this.#options.records.putExit(record);
				this.#unsaved.delete(runId);
			} catch (error) {
				this.#options.onTrouble(`${runId}: exit not recorded: ${(error as Error).message}`);
			}
			if (!isTold) this.#options.onExit(record.exit);
			isTold = true;
			if (this.#unsaved.has(runId)) await sleep(RETRY_MS);
		}
		this.#options.onCount();
	}

	async #follow(run: LeftRun): Promise<void> {
		const { runId, handle } = run;
		this.#left.set(runId, run);
		this.#options.records.putRun(run);
		await outlive(run, this.#options.orphanGraceMs, this.#options.onTrouble);
		const exit = { runId, code: null, signal: null, atMs: Date.now(), outOfMemory: false };
		await this.#finish({ exit, handle });
	}

	#liveHandle(runId: string): RunHandle | undefined {
		return this.#live.get(runId)?.handle ?? this.#left.get(runId)?.handle;
	}

	#readEnded(runId: string): ExitRecord | null {
		return this.#unsaved.get(runId) ?? this.#options.records.readExit(runId);
	}

	#removeGroups(paths: readonly string[]): void {
		if (paths.length > 0 && !this.#options.groups.remove(paths)) this.#leftGroups.add(paths);
	}
}

/** The process was gone before it could be looked at. No process ever has this start time. */
const endedIdentity = (pid: number): ProcessIdentity => ({
	bootId: readBootId(),
	pid,
	startTime: "ended",
});
