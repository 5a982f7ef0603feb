/**
 * The files of each run: its start specification, until the launcher has read it; its starter; its
 * handle; and the reports of its launcher and log writer. Files appear complete, and are detected by a
 * watch; without one, by polling.
 */

import {
	existsSync,
	type FSWatcher,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	watch,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { removeLeftovers, replaceFileSync } from "../../home/replace-file.js";
import { makePrivateFolder } from "../../host/socket-path.js";

/**
 * `claim`, `spec`, `logs`, `handle` and the two rooms are written here. The launcher overwrites `room1`
 * in place and renames it to `started` or `failed`, and `room2` to `exit`, so that it can report on a
 * full disk. The log writer writes `logged`.
 */
const KINDS = [
	...(["claim", "spec", "logs", "handle", "started", "failed", "exit", "logged"] as const),
	...(["room1", "room2"] as const),
] as const;
export type Kind = (typeof KINDS)[number];

/** A full block on every common file system. */
const ROOM = " ".repeat(4_096);

/** Run ids become file names, and words in commands. */
export const isRunId = (text: string) => /^[A-Za-z0-9][\w.-]{0,127}$/.test(text);

/** With a watch, polling only covers missed events. */
const LOOK_MS = { told: 1_000, untold: 50 };
const KEPT_MAX = 10_000;
const KEPT_MS_MAX = 30 * 24 * 60 * 60 * 1_000;

export class RunFiles {
	readonly #folder: string;
	readonly #onExit: (runId: string) => void;
	readonly #waiting = new Map<string, Set<() => void>>();
	#watcher: FSWatcher | null = null;

	constructor(folder: string, onExit: (runId: string) => void) {
		this.#folder = join(folder, "runs");
		this.#onExit = onExit;
	}

	/** Creates the directory and starts to watch it. */
	open(): void {
		if (this.#watcher !== null) return;
		makePrivateFolder(this.#folder);
		try {
			this.#watcher = watch(this.#folder, { persistent: false }, (_, name) => this.#onChange(name));
			this.#watcher.on("error", () => {});
		} catch {
			// No watches available: files are polled.
		}
	}

	close(): void {
		this.#watcher?.close();
		this.#watcher = null;
	}

	/** The common prefix of a run's files. */
	base = (runId: string) => join(this.#folder, runId);

	path = (runId: string, kind: Kind) => `${this.base(runId)}.${kind}`;

	has = (runId: string, kind: Kind) => existsSync(this.path(runId, kind));

	/** Null if it does not exist. */
	read(runId: string, kind: Kind): { readonly text: string; readonly atMs: number } | null {
		try {
			const path = this.path(runId, kind);
			return { text: readFileSync(path, "utf8"), atMs: Math.round(statSync(path).mtimeMs) };
		} catch {
			return null;
		}
	}

	write(runId: string, kind: Kind, text: string): void {
		replaceFileSync(this.path(runId, kind), text, { durable: false });
	}

	/** Reserves disk space for the launcher's reports; throws if there is none. */
	reserve(runId: string): void {
		for (const kind of ["room1", "room2"] as const) this.write(runId, kind, ROOM);
	}

	/** False if it already exists: of several simultaneous callers, one gets true. */
	create(runId: string, kind: Kind, text: string): boolean {
		try {
			writeFileSync(this.path(runId, kind), text, { mode: 0o600, flag: "wx" });
			return true;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
			// On a full disk it may exist, and be empty.
			this.remove(runId, [kind]);
			throw error;
		}
	}

	/** Records an exit that the launcher can no longer record, in its reserved space. */
	recordEnd(runId: string, text: string): void {
		try {
			this.remove(runId, ["room2"]);
			this.create(runId, "exit", text);
		} catch {
			// The disk is full; then only current listeners get the exit.
		}
	}

	remove(runId: string, kinds: readonly Kind[] = KINDS): void {
		for (const kind of kinds) rmSync(this.path(runId, kind), { force: true });
	}

	/** The first of these kinds that exists; null after the timeout. */
	async waitFor<K extends Kind>(
		runId: string,
		kinds: readonly K[],
		timeoutMs: number,
	): Promise<K | null> {
		const deadlineMs = performance.now() + timeoutMs;
		for (;;) {
			const found = kinds.find((kind) => this.has(runId, kind));
			if (found !== undefined) return found;
			const leftMs = deadlineMs - performance.now();
			if (leftMs <= 0) return null;
			await this.#nextChange(runId, leftMs);
		}
	}

	/** Removes files that were not used for a long time, and temporary files of killed writers. */
	prune(): void {
		removeLeftovers(this.#folder);
		const exits = readdirSync(this.#folder)
			.filter((name) => name.endsWith(".exit"))
			.flatMap((name) => {
				const found = statSync(join(this.#folder, name), { throwIfNoEntry: false });
				return found === undefined ? [] : [{ runId: name.slice(0, -5), atMs: found.mtimeMs }];
			})
			.sort((a, b) => b.atMs - a.atMs);
		const oldestMs = Date.now() - KEPT_MS_MAX;
		for (const [place, { runId, atMs }] of exits.entries()) {
			if (place >= KEPT_MAX || atMs < oldestMs) this.remove(runId);
		}
	}

	#nextChange(runId: string, withinMs: number): Promise<void> {
		return new Promise((resolve) => {
			const waiters = this.#waiting.get(runId) ?? new Set();
			this.#waiting.set(runId, waiters);
			const done = () => {
				clearTimeout(timer);
				waiters.delete(done);
				if (waiters.size === 0) this.#waiting.delete(runId);
				resolve();
			};
			const lookMs = this.#watcher === null ? LOOK_MS.untold : LOOK_MS.told;
			const timer = setTimeout(done, Math.min(lookMs, withinMs));
			waiters.add(done);
		});
	}

	#onChange(name: string | null): void {
		if (name === null || name.endsWith(".tmp")) return;
		const dot = name.lastIndexOf(".");
		const runId = name.slice(0, dot);
		if (name.endsWith(".exit") && this.has(runId, "exit")) this.#onExit(runId);
		for (const wake of [...(this.#waiting.get(runId) ?? [])]) wake();
	}
}
