/** What all calls and workers of one executor share: its bounds, its groups, and who is under way. */

import { createGroups, type Groups } from "../host/cgroup.js";
import {
	type ProgramLaunch,
	type ProgramStart,
	type RunningProgram,
	startProgram,
} from "./program.js";

export interface Bounds {
	/** Of one answer. */
	readonly answerBytesMax: number;
	/** Of what is kept of stderr with an attempt. */
	readonly logBytesMax: number;
	/** Of what may wait for a worker that does not read. */
	readonly unreadBytesMax: number;
}

export interface World {
	readonly bounds: Bounds;
	readonly isClosed: boolean;
	start(launch: ProgramLaunch): Promise<ProgramStart>;
	/** The program and all that belonged to it are gone. */
	release(program: RunningProgram): void;
	/** Something is under way, and `callOff` ends it; to be taken back when nothing is left of it. */
	hold(callOff: () => void): () => void;
	groupsOf(runId: string): readonly string[];
	removeGroups(paths: readonly string[]): void;
	trouble(message: string): void;
	/** Ends everything that is under way. */
	close(): Promise<void>;
}

export interface WorldOptions {
	readonly owner: string;
	readonly bounds: Bounds;
	readonly onTrouble: (message: string) => void;
}

export function createWorld({ owner, bounds, onTrouble }: WorldOptions): World {
	let groups: Groups | null = null;
	let closing: Promise<void> | null = null;
	/** Groups that could not be removed yet, since somebody was still leaving them. */
	const leftGroups = new Set<string>();
	const held = new Set<() => void>();
	let onIdle: () => void = () => {};
	const told = new Set<string>();

	const needGroups = () => {
		groups ??= createGroups(`exec-${owner}`);
		return groups;
	};

	function removeGroups(paths: readonly string[]): void {
		for (const path of paths) leftGroups.add(path);
		for (const path of leftGroups) {
			if (needGroups().remove([path])) leftGroups.delete(path);
		}
	}

	/** The same words about the same agent once: a limit that cannot be set is so for every call. */
	function tellOnce(message: string): void {
		if (told.has(message) || told.size >= TOLD_MAX) return;
		told.add(message);
		onTrouble(message);
	}

	async function endAll(): Promise<void> {
		const idle = new Promise<void>((resolve) => {
			onIdle = resolve;
		});
		for (const callOff of held) callOff();
		if (held.size > 0) await idle;
		groups?.sweep();
		groups?.close();
		groups = null;
	}

	return {
		bounds,
		get isClosed() {
			return closing !== null;
		},
		async start(launch) {
			const started = await startProgram(launch, needGroups);
			const missing = started.ok ? started.program.missingLimits : [];
			for (const words of missing) tellOnce(`${launch.agentId}: ${words}`);
			return started;
		},
		release: ({ groups: paths }) => removeGroups(paths),
		hold(callOff) {
			held.add(callOff);
			return () => {
				held.delete(callOff);
				if (held.size === 0) onIdle();
			};
		},
		groupsOf: (runId) => needGroups().find(runId),
		removeGroups,
		trouble: onTrouble,
		close() {
			closing ??= endAll();
			return closing;
		},
	};
}

const TOLD_MAX = 1_000;
