/**
 * What may be asked of one agent: up, down, restart, resume, an answer, a new spec. Requests wait for
 * each other, so that no two of them interleave, however many people ask at once.
 */

import type { AgentSpec } from "../config/spec.js";
import { decideResume } from "../core/crash-policy.js";
import type { Asker } from "../core/exit.js";
import type { PolicyState } from "../core/states.js";
import type { NewEvent } from "../ports/store.js";
import { policyChange, startEffectKey } from "./agent-record.js";
import type { Life } from "./life.js";
import type { StartOutcome, StopReport } from "./life-world.js";
import { createMailbox } from "./mailbox.js";

export interface RestartOptions {
	/** Without the conversation it had. */
	readonly fresh: boolean;
	readonly timeoutMs?: number | undefined;
}

/** What was done, and the start that was asked for; it may be long in coming. */
export interface Restarted {
	readonly report: StopReport;
	readonly start: Promise<StartOutcome> | null;
}

export interface Resumed {
	readonly from: PolicyState;
	readonly start: Promise<StartOutcome>;
}

export type Answer = "fresh" | "continue" | "stop";

export class AgentRunner {
	readonly life: Life;
	readonly #verbs = createMailbox();

	constructor(life: Life) {
		this.life = life;
	}

	get id(): string {
		return this.life.id;
	}

	/** Answers when it has started. Whoever asks for something else meanwhile need not wait for that. */
	async up(by: Asker): Promise<StartOutcome> {
		const { start } = await this.#verbs.run(async () => {
			await this.#want("up", by);
			return { start: this.#start(true) };
		});
		return start;
	}

	down(by: Asker, timeoutMs?: number): Promise<StopReport> {
		return this.#verbs.run(async () => {
			await this.#want("down", by);
			return this.life.stop(by, timeoutMs);
		});
	}

	restart(by: Asker, { fresh, timeoutMs }: RestartOptions): Promise<Restarted> {
		return this.#verbs.run(async () => {
			const report = await this.life.stop(by, timeoutMs);
			await this.#want("up", by);
			return { report, start: report.outcome === "not_proven" ? null : this.#start(!fresh) };
		});
	}

	/** `endsHold`: what kept it was not its own exits, and is over now. */
	resume(endsHold: boolean): Promise<Resumed> {
		return this.#verbs.run(async () => {
			let from: PolicyState = "healthy";
			await this.life.record(
				(agent) => {
					const { state: crash, reason } = decideResume(agent.crash, endsHold);
					from = agent.crash.policy;
					return [
						{ crash, reason, waiting: false },
						[
							{ type: "agent.resumed", agent: this.id, data: { from } },
							...policyChange(this.id, agent.crash, crash, reason),
						],
					];
				},
				(transaction) => transaction.removeEffect(startEffectKey(this.id)),
			);
			return { from, start: this.#start(true) };
		});
	}

	/** What follows a clean exit that waits for a person; null when nothing waits. */
	answer(answer: Answer): Promise<{ readonly start: Promise<StartOutcome> } | null> {
		return this.#verbs.run(async () => {
			if (!this.life.snapshot().agent.waiting) return null;
			const desired = answer === "stop" ? "down" : "up";
			const event: NewEvent = { type: "agent.answered", agent: this.id, data: { answer } };
			await this.life.record(() => [{ waiting: false, desired }, [event]]);
			return { start: this.#start(answer === "continue") };
		});
	}

	/** Takes a new spec; the next start uses it. */
	change(spec: AgentSpec, position: number, keys: readonly string[]): Promise<void> {
		const event: NewEvent = { type: "agent.changed", agent: this.id, data: { keys } };
		return this.life.record(() => [{ spec, position }, keys.length === 0 ? [] : [event]]);
	}

	/** Stops it for now; what forbids its start is for others to know. */
	hold(): Promise<StopReport> {
		return this.#verbs.run(() => this.life.stop("reeve", undefined));
	}

	/** Starts what was held, if it is still wanted. */
	async goOn(): Promise<StartOutcome> {
		const { start } = await this.#verbs.run(async () => ({ start: this.#start(true) }));
		return start;
	}

	/** Carries through a stop or restart that an earlier daemon had begun. */
	async finishStop(by: Asker): Promise<void> {
		if (this.life.snapshot().agent.desired === "down") await this.down(by);
		else await this.restart(by, { fresh: false });
	}

	/** How the start comes out that it asks for, if nothing forbids one. */
	#start(withContinue: boolean): Promise<StartOutcome> {
		const refused = this.life.forbidden();
		return refused === null ? this.life.askToStart(withContinue) : Promise.resolve(refused);
	}

	#want(desired: "up" | "down", by: Asker): Promise<void> {
		const event: NewEvent = { type: "agent.desired", agent: this.id, data: { desired, by } };
		return this.life.record((agent) => [
			{ desired, waiting: false },
			agent.desired === desired ? [] : [event],
		]);
	}
}
