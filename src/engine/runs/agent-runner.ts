/**
 * The operations of one agent: up, down, restart, resume, answer, a new spec. They are serialized, so
 * that concurrent requests never interleave.
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
	/** Without its previous conversation. */
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

	/** Resolves when it has started. Other operations need not wait for that. */
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

	/** The first half of a restart. A daemon that dies in between leaves an agent that is wanted up. */
	stopToRestart(by: Asker, timeoutMs?: number): Promise<StopReport> {
		return this.#verbs.run(async () => {
			await this.#want("up", by);
			return this.life.stop(by, timeoutMs);
		});
	}

	/** The second half. A `down` in between takes precedence. */
	async startAgain(withContinue: boolean): Promise<StartOutcome> {
		const { start } = await this.#verbs.run(async () => {
			await this.#recheck();
			return { start: this.#start(withContinue) };
		});
		return start;
	}

	/**
	 * Starts an agent whose settings have changed, unless it was taken down in the meantime (S2). A run
	 * that another request started with the old settings is stopped first: no later reload would detect
	 * that it is outdated.
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

	/** `endsHold`: it was held for a reason other than its own exits, which is over now. */
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

	/** Decides what follows a clean exit; null if the agent is not waiting for an answer. */
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

	/**
	 * Applies a new spec, used by the next start. A changed agent gets a new history: its old exits do
	 * not apply.
	 */
	/**
	 * Whether the change was applied. With `unlessRunning` it is not applied while a run exists: the run
	 * would have the old settings, and no reload would detect that. Checked inside the agent's queue,
	 * since a restart may have come first.
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

	/** Stops it for now; the holder decides when it may start again. */
	hold(): Promise<StopReport> {
		return this.#verbs.run(() => this.life.stop("reeve", undefined));
	}

	/** Starts a held agent, if it is still wanted up. */
	async goOn(): Promise<StartOutcome> {
		const { start } = await this.#verbs.run(async () => ({ start: this.#start(true) }));
		return start;
	}

	/** Completes a stop or restart that an earlier daemon had begun. */
	async finishStop(by: Asker): Promise<void> {
		if (this.life.snapshot().agent.desired === "down") {
			await this.down(by);
			return;
		}
		const { outcome } = await this.stopToRestart(by);
		if (outcome !== "not_proven") await this.startAgain(true);
	}

	/**
	 * An agent that was halted because it could not be started (a missing program or directory, no
	 * permission) is checked again on request, so that fixing the cause is enough.
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

	/** Clears the exit history of an agent that has changed. */
	#fresh(before: CrashState, reason: string): readonly [Partial<Agent>, readonly NewEvent[]] {
		const crash = { ...NEW_AGENT, runningMs: before.runningMs };
		const events = policyChange(this.id, before, crash, reason);
		return [events.length === 0 ? { crash } : { crash, reason }, events];
	}

	/** The outcome of the start that it requests, if nothing forbids one. */
	#start(withContinue: boolean): Promise<StartOutcome> {
		const refused = this.life.forbidden();
		return refused === null ? this.life.askToStart(withContinue) : Promise.resolve(refused);
	}

	#want(desired: "up" | "down", by: Asker): Promise<void> {
		const event: NewEvent = { type: "agent.desired", agent: this.id, data: { desired, by } };
		// The exit of a current run has its own reason; a halted agent keeps the one it was halted for.
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
