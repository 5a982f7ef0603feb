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
	/** Called when the planned time has come. */
	readonly #onDue: () => void;
	#wanted: WantedStart | null = null;
	#plannedAtMs: number | null = null;
	#cancel = () => {};

	constructor(clock: Clock, onDue: () => void) {
		this.#clock = clock;
		this.#onDue = onDue;
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
		return this.#wanted.outcome.promise;
	}

	plan({ afterMs, dueAtMs }: PlannedStart): void {
		this.#cancelPlan();
		if (afterMs <= 0) return void this.#onDue();
		this.#plannedAtMs = dueAtMs;
		this.#cancel = scheduleLong(this.#clock, afterMs, this.#onDue);
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
	release(): void {
		this.#cancel();
	}

	#cancelPlan(): void {
		this.#cancel();
		this.#plannedAtMs = null;
	}
}
