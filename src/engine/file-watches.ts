/**
 * Watches the files of agents with `watch`, and restarts an agent when they have changed. Files are watched while the
 * agent is wanted up, also while it waits for a restart. Nothing here survives the daemon: the next one watches again,
 * and changes in between are not noticed.
 */

import type { SessionSpec, WorkerSpec } from "../config/spec.js";
import {
	decideWatchRestart,
	type FileChanges,
	noteChange,
	renderChanges,
	WATCH_RESTARTS_MAX,
	WATCH_RESTARTS_WITHIN_MS,
} from "../core/file-changes.js";
import { plainLine } from "../core/safe-text.js";
import type { Clock } from "../ports/clock.js";
import type { NewEvent, Store } from "../ports/store.js";
import type { Agents } from "./agents.js";

const NAME_LENGTH_MAX = 200;

/** The files of one agent, watched on this host. */
export interface WatchedFiles {
	/** How many folders are watched now. */
	readonly folders: () => number;
	/** Why changes of some files are not noticed, as text; null if all are. */
	readonly problem: () => string | null;
	close(): void;
}

export interface FileNews {
	/** A changed file, relative to the agent's directory if it is in there. */
	readonly onChange: (file: string) => void;
	/** Changes of some files are not noticed from now on, for another reason than before. */
	readonly onProblem: (reason: string) => void;
}

export type WatchFiles = (
	spec: SessionSpec | WorkerSpec,
	paths: readonly string[],
	news: FileNews,
) => WatchedFiles;

export interface FileWatchesWorld {
	readonly agents: Agents;
	readonly clock: Clock;
	readonly store: Store;
	readonly watchFiles: WatchFiles;
	readonly onError: (agentId: string, error: unknown) => void;
}

/** The watched files of an agent, as they are shown. */
export interface FileWatchView {
	readonly folders: number;
	readonly problem: string | null;
	/** The last restart because of changes, in wall time; null before the first. */
	readonly restartedAtMs: number | null;
	readonly files: readonly string[];
	/** The restart waits, because there were too many. */
	readonly tooMany: boolean;
}

interface Watched {
	readonly spec: SessionSpec | WorkerSpec;
	readonly files: WatchedFiles;
	changes: FileChanges | null;
	/** Steady. */
	restartsAtMs: readonly number[];
	restartedAtMs: number | null;
	lastFiles: readonly string[];
	tooMany: boolean;
	/** The loop that it is in. */
	isReported: boolean;
	isRestarting: boolean;
	cancel: () => void;
}

export class FileWatches {
	readonly #world: FileWatchesWorld;
	readonly #watched = new Map<string, Watched>();

	constructor(world: FileWatchesWorld) {
		this.#world = world;
	}

	stop(): void {
		for (const id of [...this.#watched.keys()]) this.forget(id);
	}

	view(id: string): FileWatchView | null {
		const watched = this.#watched.get(id);
		if (watched === undefined) return null;
		const { files, restartedAtMs, lastFiles, tooMany } = watched;
		return {
			folders: files.folders(),
			problem: files.problem(),
			restartedAtMs,
			files: lastFiles,
			tooMany,
		};
	}

	/** Called after every change of an agent's record. */
	look(id: string): void {
		const { agents, watchFiles } = this.#world;
		const { spec, desired } = agents.get(id)?.snapshot().agent ?? {};
		const before = this.#watched.get(id);
		const paths = spec === undefined || spec.kind === "call" ? undefined : spec.watch;
		if (before !== undefined && before.spec === spec && desired === "up") return;
		this.forget(id);
		if (spec === undefined || spec.kind === "call" || paths === undefined || desired !== "up")
			return;
		const files = watchFiles(spec, paths, {
			onChange: (file) => this.#changed(id, file),
			onProblem: (reason) =>
				this.#note({ type: "agent.watch_incomplete", agent: id, data: { reason } }),
		});
		this.#watched.set(id, {
			spec,
			files,
			changes: null,
			restartsAtMs: [],
			restartedAtMs: null,
			lastFiles: [],
			tooMany: false,
			isReported: false,
			isRestarting: false,
			cancel: () => {},
		});
	}

	forget(id: string): void {
		const watched = this.#watched.get(id);
		this.#watched.delete(id);
		watched?.cancel();
		watched?.files.close();
	}

	#changed(id: string, file: string): void {
		const watched = this.#watched.get(id);
		if (watched === undefined) return;
		const isFirst = watched.changes === null;
		// A name may come from an agent (A10).
		const name = plainLine(file).slice(0, NAME_LENGTH_MAX);
		watched.changes = noteChange(watched.changes, name, this.#world.clock.now().steadyMs);
		if (isFirst && !watched.isRestarting) this.#decide(watched);
	}

	#decide(watched: Watched): void {
		const { clock, onError } = this.#world;
		if (watched.changes === null || this.#watched.get(watched.spec.id) !== watched) return;
		const nowMs = clock.now().steadyMs;
		const decision = decideWatchRestart(watched.changes, watched.restartsAtMs, nowMs);
		if (decision.restart) {
			this.#restart(watched, watched.changes).catch((error) => onError(watched.spec.id, error));
			return;
		}
		watched.tooMany ||= decision.tooMany;
		if (decision.tooMany && !watched.isReported) {
			watched.isReported = true;
			const data = {
				restarts: WATCH_RESTARTS_MAX,
				within_ms: WATCH_RESTARTS_WITHIN_MS,
				files: watched.changes.files,
			};
			this.#note({ type: "agent.watch_loop", agent: watched.spec.id, data });
		}
		watched.cancel = clock.schedule(decision.afterMs, () => this.#decide(watched));
	}

	async #restart(watched: Watched, changes: FileChanges): Promise<void> {
		const { agents, clock } = this.#world;
		const runner = agents.get(watched.spec.id);
		if (runner === undefined) return;
		const { steadyMs, wallMs } = clock.now();
		Object.assign(watched, { changes: null, tooMany: false, isRestarting: true });
		Object.assign(watched, { restartedAtMs: wallMs, lastFiles: changes.files });
		const lastMs = watched.restartsAtMs.at(-1) ?? Number.NEGATIVE_INFINITY;
		if (steadyMs - lastMs > WATCH_RESTARTS_WITHIN_MS) watched.isReported = false;
		watched.restartsAtMs = [...watched.restartsAtMs, steadyMs].slice(-WATCH_RESTARTS_MAX);
		const { files, more } = changes;
		this.#note({ type: "agent.files_changed", agent: watched.spec.id, data: { files, more } });
		try {
			// The start may have to wait for others; changes from now on are for the next one.
			await runner.restartChanged(renderChanges(changes));
		} finally {
			watched.isRestarting = false;
			this.#decide(watched);
		}
	}

	#note(event: Extract<NewEvent, { type: `agent.${string}` }>): void {
		const { store, clock, onError } = this.#world;
		store
			.commit((transaction) => transaction.appendEvent(event, clock.now().wallMs))
			.catch((error: unknown) => onError(event.agent ?? "", error));
	}
}
