/**
 * The starts that requests wait for. All of them share one timer: a request for a large fleet waits for hundreds.
 */

import type { Clock } from "../../ports/clock.js";
import type { StartOutcome } from "./life-world.js";

/** How long a request waits for a start before it reports that the agent is still waiting. */
const WAIT_MS_MAX = 60_000;
const POLL_MS = 250;

interface Awaited {
	readonly sinceMs: number;
	readonly waitMsMax: number;
	/** Whether it waits for something that may take long, or never ends. */
	readonly waitsLong: () => boolean;
	resolve(outcome: StartOutcome): void;
	reject(error: unknown): void;
}

export class AwaitedStarts {
	readonly #clock: Clock;
	readonly #awaited = new Set<Awaited>();
	#cancel: (() => void) | null = null;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** The outcome of a start, or `waiting` if it does not happen soon. */
	outcomeOf(
		start: Promise<StartOutcome>,
		waitsLong: () => boolean,
		waitMsMax = WAIT_MS_MAX,
	): Promise<StartOutcome> {
		return new Promise((resolve, reject) => {
			const sinceMs = this.#clock.now().steadyMs;
			const awaited = { sinceMs, waitMsMax, waitsLong, resolve, reject };
			this.#awaited.add(awaited);
			this.#cancel ??= this.#clock.schedule(POLL_MS, () => this.#check());
			start.then(resolve, reject).finally(() => this.#remove(awaited));
		});
	}

	#check(): void {
		const { steadyMs } = this.#clock.now();
		this.#cancel = this.#clock.schedule(POLL_MS, () => this.#check());
		for (const awaited of [...this.#awaited]) {
			try {
				const waitedMs = steadyMs - awaited.sinceMs;
				// The same request may still be about to start what the agent depends on.
				const isOver = waitedMs >= awaited.waitMsMax;
				if (waitedMs < POLL_MS || (!isOver && !awaited.waitsLong())) continue;
				awaited.resolve("waiting");
			} catch (error) {
				// The agent was removed.
				awaited.reject(error);
			}
			this.#remove(awaited);
		}
	}

	#remove(awaited: Awaited): void {
		this.#awaited.delete(awaited);
		if (this.#awaited.size > 0) return;
		this.#cancel?.();
		this.#cancel = null;
	}
}
