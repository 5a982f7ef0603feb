/**
 * What may be asked of one agent: up, down, restart, resume, an answer, a new spec. Requests wait for
 * each other, so that no two of them interleave, however many people ask at once.
 */

import type { AgentSpec } from "../../config/spec.js";
import { decideResume } from "../../core/crash-policy.js";
import { type CrashState, NEW_AGENT } from "../../core/crash-state.js";
import type { Asker } from "../../core/exit.js";
import type { PolicyState } from "../../core/states.js";
import type { NewEvent } from "../../ports/store.js";
import { createMailbox } from "../mailbox.js";
import { policyChange, startEffectKey } from "./agent-record.js";
import type { Agent } from "./agent-state.js";
import type { Life } from "./life.js";
import type { StartOutcome, StopReport } from "./life-world.js";

export interface RestartOptions {
	/** Without the conversation it had. */
	readonly fresh: boolean;
	readonly timeoutMs?: number | undefined;
}

export interface Resumed {
	readonly from: PolicyState;
	readonly start: Promise<StartOutcome>;
}

/** Why an agent is down that did not run when it was stopped. */
const STOPPED_BY: Readonly<Record<Asker, string>> = {
	operator: "stopped by the operator",
	reeve: "stopped by Reeve",
	host: "stopped at host shutdown",
};

export type Answer = "fresh" | "continue" | "stop";

export class AgentRunner {
	readonly life: Life;
	readonly #verbs = createMailbox();
	readonly #checkStart: (spec: AgentSpec) => Promise<string | null>;

	constructor(life: Life, checkStart: (spec: AgentSpec) => Promise<string | null>) {
		this.life = life;
		this.#checkStart = checkStart;
	}

	get id(): string {
		return this.life.id;
	}

	/** Answers when it has started. Whoever asks for something else meanwhile need not wait for that. */
	async up(by: Asker): Promise<StartOutcome> {
		const { start } = await this.#verbs.run(async () => {
			await this.#want("up", by);
			await this.#recheck();
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

	/** The first half of a restart. A daemon that dies meanwhile leaves an agent that is wanted up. */
	stopToRestart(by: Asker, timeoutMs?: number): Promise<StopReport> {
		return this.#verbs.run(async () => {
			await this.#want("up", by);
			return this.life.stop(by, timeoutMs);
		});
	}

	/** The second half. Whoever took the agent down meanwhile has the last word. */
	async startAgain(withContinue: boolean): Promise<StartOutcome> {
		const { start } = await this.#verbs.run(async () => {
			await this.#recheck();
			return { start: this.#start(withContinue) };
		});
		return start;
	}

	/**
	 * Starts an agent whose settings have changed, unless it was taken down meanwhile (S2). A run that another
	 * request began with the old settings is stopped first: no later reload would see that it is out of date.
	 */
	async startChanged(by: Asker): Promise<StartOutcome> {
		const { start } = await this.#verbs.run(async () => {
			const { agent, run } = this.life.snapshot();
			if (agent.desired === "down") return { start: Promise.resolve<StartOutcome>("stopped") };
			if (run !== null) await this.life.stop(by, undefined);
			await this.#want("up", by);
			return { start: this.#start(true) };
		});
		return start;
	}

	/** `endsHold`: what kept it was not its own exits, and is over now. */
	resume(endsHold: boolean): Promise<Resumed> {
		return this.#verbs.run(async () => {
			let from: PolicyState = "healthy";
			await this.life.record(
				(agent) => {
					const { state: crash, reason } = decideResume(agent.crash, endsHold);
					from = agent.crash.policy;
					const isDown = agent.desired === "down";
					return [
						{ crash, reason: isDown ? STOPPED_BY.operator : reason, waiting: false },
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
			const event: NewEvent = { type: "agent.answered", agent: this.id, data: { answer } };
			const changes =
				answer === "stop"
					? ({ desired: "down", reason: STOPPED_BY.operator } as const)
					: ({ desired: "up" } as const);
			await this.life.record(() => [{ waiting: false, ...changes }, [event]]);
			return { start: this.#start(answer === "continue") };
		});
	}

	/** Takes a new spec; the next start uses it. A changed agent starts fresh: old exits say nothing of it. */
	/**
	 * Whether the change was made. With `unlessRunning` it is not made while a run exists: the run would have the old
	 * settings, and no reload would see that. Looked at in the agent's own turn, since a restart may have come first.
	 */
	async change(
		spec: AgentSpec,
		position: number,
		keys: readonly string[],
		unlessRunning: boolean,
	): Promise<boolean> {
		const event: NewEvent = { type: "agent.changed", agent: this.id, data: { keys } };
		let isMade = true;
		await this.life.record((agent) => {
			isMade = !(unlessRunning && this.life.snapshot().run !== null);
			if (!isMade) return [{}, []];
			if (keys.length === 0) return [{ spec, position }, []];
			const [changes, events] = this.#fresh(agent.crash, "its settings have changed");
			return [{ ...changes, spec, position }, [event, ...events]];
		});
		return isMade;
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
		if (this.life.snapshot().agent.desired === "down") {
			await this.down(by);
			return;
		}
		const { outcome } = await this.stopToRestart(by);
		if (outcome !== "not_proven") await this.startAgain(true);
	}

	/**
	 * An agent that was halted because it could not be started (a missing program or folder, no permission) is
	 * checked again when somebody asks for it, so that fixing the cause is enough.
	 */
	async #recheck(): Promise<void> {
		const { agent, lastExit } = this.life.snapshot();
		if (agent.crash.policy !== "halted" || lastExit?.cause !== "spawn_error") return;
		const problem = await this.#checkStart(agent.spec);
		await this.life.record(({ crash }) =>
			problem === null
				? this.#fresh(crash, "the cause of the failed start is fixed")
				: [{ reason: `cannot start: ${problem}` }, []],
		);
	}

	/** Forgets the exits of an agent that is not the one that had them any more. */
	#fresh(before: CrashState, reason: string): readonly [Partial<Agent>, readonly NewEvent[]] {
		const crash = { ...NEW_AGENT, runningMs: before.runningMs };
		const events = policyChange(this.id, before, crash, reason);
		return [events.length === 0 ? { crash } : { crash, reason }, events];
	}

	/** How the start comes out that it asks for, if nothing forbids one. */
	#start(withContinue: boolean): Promise<StartOutcome> {
		const refused = this.life.forbidden();
		return refused === null ? this.life.askToStart(withContinue) : Promise.resolve(refused);
	}

	#want(desired: "up" | "down", by: Asker): Promise<void> {
		const event: NewEvent = { type: "agent.desired", agent: this.id, data: { desired, by } };
		// The exit of a run that is under way brings its own reason; a halted agent keeps the one it halted for.
		const isIdle = this.life.snapshot().run === null;
		return this.life.record((agent) => [
			{
				...{ desired, waiting: false },
				...(desired === "down" &&
					isIdle &&
					agent.crash.policy !== "halted" && { reason: STOPPED_BY[by] }),
			},
			agent.desired === desired ? [] : [event],
		]);
	}
}
