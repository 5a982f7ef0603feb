/** The next start of an agent: requested, or planned for later. */

import type { Clock } from "../../ports/clock.js";
import { createSignal, type Signal, scheduleLong } from "../waiting.js";
import type { PlannedStart } from "./agent-record.js";
import type { StartOutcome } from "./life-world.js";

export interface WantedStart {
	readonly withContinue: boolean;
	readonly outcome: Signal<StartOutcome>;
}

export class NextStart {
	readonly #clock: Clock;
	/** Called when the start is requested. */
	readonly #onWanted: () => void;
	#wanted: WantedStart | null = null;
	#plannedAtMs: number | null = null;
	#cancel = () => {};

	constructor(clock: Clock, onWanted: () => void) {
		this.#clock = clock;
		this.#onWanted = onWanted;
	}

	get isWanted(): boolean {
		return this.#wanted !== null;
	}

	/** Wall time; null if nothing is planned. */
	get plannedAtMs(): number | null {
		return this.#plannedAtMs;
	}

	/** The outcome of the start. Requests while one is pending share it. */
	ask(withContinue: boolean): Promise<StartOutcome> {
		this.#cancelPlan();
		this.#wanted ??= { withContinue, outcome: createSignal() };
		const { promise } = this.#wanted.outcome;
		this.#onWanted();
		return promise;
	}

	plan({ afterMs, dueAtMs }: PlannedStart): void {
		this.#cancelPlan();
		if (afterMs <= 0) return void this.ask(true);
		this.#plannedAtMs = dueAtMs;
		this.#cancel = scheduleLong(this.#clock, afterMs, () => void this.ask(true));
	}

	/** Takes the requested start and clears it. */
	take(): WantedStart | null {
		const wanted = this.#wanted;
		this.#wanted = null;
		return wanted;
	}

	/** Rejects the requested start for all of its callers. */
	refuse(outcome: StartOutcome = "stopped"): void {
		this.#cancelPlan();
		this.take()?.outcome.resolve(outcome);
	}

	/** Cancels the planned start, without reporting an outcome. */
	letGo(): void {
		this.#cancel();
	}

	#cancelPlan(): void {
		this.#cancel();
		this.#plannedAtMs = null;
	}
}
