/** One process of a worker agent's pool, from the intended start to the recorded exit. */

import type { Asker } from "../../core/exit.js";
import type { RunHandle } from "../../ports/backend.js";
import type { Worker } from "../../ports/executor.js";
import type { StoredRun } from "../../ports/store.js";
import { createSignal, type Signal } from "../waiting.js";
import type { ProcessEnd } from "./agent-state.js";

/** The backend name of worker runs. */
const HELD_BY = "worker";

export interface Slot {
	readonly runId: string;
	readonly intendedAtMs: number;
	/** Null until it has started. */
	worker: Worker | null;
	startedSteadyMs: number | null;
	askedBy: Asker | null;
	/** The exit of its process, as soon as it is known; it is recorded later. */
	gone: ProcessEnd | null;
	/** Resolves once its exit is recorded. */
	readonly ended: Signal<void>;
	/** It got a request: it is not idle. */
	busy(): void;
	/** The timer to cancel when it gets a request. */
	idleAfter(cancel: () => void): void;
	/** The watcher to cancel when it ends. */
	watch(cancel: () => void): void;
	letGo(): void;
}

export function newSlot(runId: string, intendedAtMs: number): Slot {
	let cancelIdle = () => {};
	const watches: (() => void)[] = [];
	return {
		...{ runId, intendedAtMs, worker: null, startedSteadyMs: null, askedBy: null, gone: null },
		ended: createSignal(),
		busy: () => cancelIdle(),
		idleAfter(cancel) {
			cancelIdle();
			cancelIdle = cancel;
		},
		watch: (cancel) => void watches.push(cancel),
		letGo() {
			cancelIdle();
			for (const cancel of watches) cancel();
		},
	};
}

export function slotHandle({ runId, worker }: Slot): RunHandle | null {
	if (worker === null) return null;
	const { process, startedAtMs } = worker;
	return { backend: HELD_BY, runId, process, startedAtMs, data: {} };
}

export function storedSlot(agentId: string, slot: Slot, state: StoredRun["state"]): StoredRun {
	const { runId, intendedAtMs, askedBy } = slot;
	const handle = slotHandle(slot);
	return {
		...{ runId, agentId, backend: HELD_BY, state, handle },
		...{ intendedAtMs, askedBy, withContinue: false },
	};
}
