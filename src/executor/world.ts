/** Shared state of all calls and workers of one executor: its bounds, its groups, and what is running. */

import { createGroups, type Groups } from "../host/cgroup.js";
import {
	type ProgramLaunch,
	type ProgramStart,
	type RunningProgram,
	startProgram,
} from "./program.js";

export interface Bounds {
	/** Of one response. */
	readonly answerBytesMax: number;
	/** Of the stderr output that is kept with an attempt. */
	readonly logBytesMax: number;
	/** Of the data queued for a worker that does not read. */
	readonly unreadBytesMax: number;
}

export interface World {
	readonly bounds: Bounds;
	readonly isClosed: boolean;
	start(launch: ProgramLaunch): Promise<ProgramStart>;
	/** Called when the program and all of its processes are gone. */
	release(program: RunningProgram): void;
	/** Registers running work, which `callOff` stops; call the returned function when nothing is left of it. */
	hold(callOff: () => void): () => void;
	groupsOf(runId: string): readonly string[];
	removeGroups(paths: readonly string[]): void;
	trouble(message: string): void;
	/** Stops all running work. */
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
	/** Groups that could not be removed yet, because a process was still exiting. */
	const leftGroups = new Set<string>();
	const held = new Set<() => void>();
	let onIdle: () => void = () => {};
	const reported = new Set<string>();

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

	/** Logs each message once: a limit that cannot be set fails for every call. */
	function logOnce(message: string): void {
		if (reported.has(message) || reported.size >= SHOWN_MAX) return;
		reported.add(message);
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
			for (const words of missing) logOnce(`${launch.agentId}: ${words}`);
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

const SHOWN_MAX = 1_000;
