/** The start that an agent has before it: asked for and not yet come about, or planned for later. */

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
	/** The start is wanted from now on. */
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

	/** Wall time; null when nothing is planned. */
	get plannedAtMs(): number | null {
		return this.#plannedAtMs;
	}

	/** How the start comes out. Whoever asks while one is wanted gets that one. */
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

	/** What is wanted; from here on it is no more. */
	take(): WantedStart | null {
		const wanted = this.#wanted;
		this.#wanted = null;
		return wanted;
	}

	/** Nothing starts, whoever asked for it. */
	refuse(outcome: StartOutcome = "stopped"): void {
		this.#cancelPlan();
		this.take()?.outcome.resolve(outcome);
	}

	/** Lets go of what is planned, without a word. */
	letGo(): void {
		this.#cancel();
	}

	#cancelPlan(): void {
		this.#cancel();
		this.#plannedAtMs = null;
	}
}
