/**
 * The operations of one agent: up, down, restart, resume, answer, a new spec. They are serialized, so
 * that concurrent requests never interleave.
 */

import type { AgentSpec } from "../../config/spec.js";
import { decideResume } from "../../core/crash-policy.js";
import { type CrashState, NEW_AGENT } from "../../core/crash-state.js";
import { ReeveError } from "../../core/errors.js";
import type { Asker } from "../../core/exit.js";
import type { WakeCause } from "../../core/hibernation.js";
import type { PolicyState } from "../../core/states.js";
import type { Executor } from "../../ports/executor.js";
import type { NewEvent, StoreTransaction } from "../../ports/store.js";
import { createMailbox } from "../mailbox.js";
import { drainedEvent, policyChange, startEffectKey } from "./agent-record.js";
import { type Agent, type AgentSnapshot, hasCompleted, NO_RUN, newestRun } from "./agent-state.js";
import {
	type LifeWorld,
	NOTHING_STOPPED,
	type StartOutcome,
	type StopReport,
} from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type Operations, SessionLife } from "./session-life.js";
import type { SessionWorld } from "./session-world.js";
import { WorkerLife } from "./worker-life.js";

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

export interface RunnerWorld extends LifeWorld {
	readonly executor: Executor;
}

export class AgentRunner implements Operations {
	readonly #agent: PersistedAgent;
	/** Its runs; null for a call agent, which has none. */
	readonly life: SessionLife | WorkerLife | null;
	readonly #operations = createMailbox();
	#isRemoved = false;
	/** The cause to start it now, if it hibernates; null if there is none. */
	readonly #needed: () => WakeCause | null;
	readonly #sessions: SessionWorld;

	constructor(agent: PersistedAgent, world: RunnerWorld) {
		this.#agent = agent;
		this.#sessions = world.sessions;
		this.#needed = () => {
			const { id } = agent.now;
			if (world.inbox.head(id) !== null) return "message";
			return world.viewers.count(id) > 0 || world.drafts.has(id, []) ? "attach" : null;
		};
		this.life = {
			session: () => new SessionLife(agent, world, this),
			worker: () => new WorkerLife(agent, world, world.executor),
			call: () => null,
		}[agent.now.spec.kind]();
	}

	get id(): string {
		return this.#agent.now.id;
	}

	get session(): SessionLife | null {
		return this.life instanceof SessionLife ? this.life : null;
	}

	get worker(): WorkerLife | null {
		return this.life instanceof WorkerLife ? this.life : null;
	}

	get spec(): AgentSpec {
		return this.#agent.now.spec;
	}

	/** Whether it waits for permission to start. */
	get wantsStart(): boolean {
		return this.life?.wantsStart ?? false;
	}

	snapshot(): AgentSnapshot {
		if (this.life !== null) return this.life.snapshot();
		return { agent: this.#agent.now, lastExit: this.#agent.lastExit, ...NO_RUN };
	}

	/** Resolves when it has started. Other operations need not wait for that. */
	async up(by: Asker): Promise<StartOutcome> {
		const { start } = await this.#serialize(async () => {
			await this.#setDesired("up", by);
			await this.#recheck();
			return { start: this.#requestStart(true) };
		});
		return start;
	}

	down(by: Asker, timeoutMs?: number): Promise<StopReport> {
		return this.#serialize(async () => {
			await this.#setDesired("down", by);
			return this.stop(by, timeoutMs);
		});
	}

	/** The first half of a restart. A daemon that dies in between leaves an agent that is wanted up. */
	stopToRestart(by: Asker, timeoutMs?: number, why?: string): Promise<StopReport> {
		return this.#serialize(async () => {
			await this.#setDesired("up", by);
			return this.stop(by, timeoutMs, why);
		});
	}

	/**
	 * Stops the run that was the newest when a restart was decided, for `startAgain` to follow. Null if a later run
	 * exists: then the agent was restarted already, perhaps by an earlier daemon.
	 */
	stopDecided(runId: string | null, by: Asker): Promise<StopReport | null> {
		return this.#serialize(async () => {
			const snapshot = this.snapshot();
			if (newestRun(snapshot) !== runId) return null;
			if (snapshot.agent.desired === "down" && !hasCompleted(snapshot)) return null;
			await this.#setDesired("up", by);
			return this.stop(by);
		});
	}

	/** The second half. A `down` in between takes precedence. */
	async startAgain(withContinue: boolean): Promise<StartOutcome> {
		const { start } = await this.#serialize(async () => {
			await this.#recheck();
			return { start: this.#requestStart(withContinue) };
		});
		return start;
	}

	/**
	 * Starts an agent whose settings have changed, unless it was taken down in the meantime (S2). A run
	 * that another request started with the old settings is stopped first: no later reload would detect
	 * that it is outdated.
	 */
	async startChanged(by: Asker): Promise<StartOutcome> {
		const { start } = await this.#serialize(async () => {
			const { agent, run } = this.snapshot();
			if (agent.desired === "down") return { start: Promise.resolve<StartOutcome>("stopped") };
			if (run !== null) await this.stop(by);
			await this.#setDesired("up", by);
			return { start: this.#requestStart(true) };
		});
		return start;
	}

	/**
	 * Restarts an agent whose files have changed, unless it was taken down in the meantime (S2). An agent that waits for the
	 * operator or for its next restart starts now; a halted one stays halted (S15).
	 */
	async restartChanged(why: string): Promise<StartOutcome> {
		const { start } = await this.#serialize(async () => {
			const { agent, run, process } = this.snapshot();
			if (agent.desired === "down") return { start: Promise.resolve<StartOutcome>("stopped") };
			if (run !== null || process !== "stopped") await this.stop("reeve", undefined, why);
			await this.#setDesired("up", "reeve");
			return { start: this.#requestStart(true) };
		});
		return start;
	}

	/** `endsHold`: it was held for a reason other than its own exits, which is over now. */
	resume(endsHold: boolean): Promise<Resumed> {
		return this.#serialize(async () => {
			let from: PolicyState = "healthy";
			await this.session?.endHibernation("operator");
			await this.#record(
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
			return { from, start: this.#requestStart(true) };
		});
	}

	/** Decides what follows a clean exit; null if the agent is not waiting for an answer. */
	answer(answer: Answer): Promise<{ readonly start: Promise<StartOutcome> } | null> {
		return this.#serialize(async () => {
			if (!this.snapshot().agent.waiting) return null;
			const event: NewEvent = { type: "agent.answered", agent: this.id, data: { answer } };
			const changes =
				answer === "stop"
					? ({ desired: "down", reason: STOPPED_BY.operator } as const)
					: ({ desired: "up" } as const);
			await this.#record(() => [{ waiting: false, ...changes }, [event]]);
			return { start: this.#requestStart(answer === "continue") };
		});
	}

	/**
	 * Applies new settings, used by the next start. A changed agent gets a new history: its old exits do
	 * not apply. Returns whether the change was applied. With `unlessRunning` it is not applied while a run exists: the run
	 * would have the old settings, and no reload would detect that. Checked inside the agent's queue,
	 * since a restart may have come first.
	 */
	async change(
		settings: Pick<Agent, "spec" | "position" | "revision">,
		keys: readonly string[],
		unlessRunning: boolean,
	): Promise<boolean> {
		const event: NewEvent = { type: "agent.changed", agent: this.id, data: { keys } };
		let isMade = true;
		await this.#record((agent) => {
			isMade = !(unlessRunning && this.snapshot().run !== null);
			if (!isMade) return [{}, []];
			const [changes, events] = this.#fresh(agent.crash, "its settings have changed");
			return [{ ...changes, ...settings }, [event, ...events]];
		});
		return isMade;
	}

	/**
	 * Removes the agent, unless it still runs. A run that another request started after the agent was stopped is stopped first,
	 * or, with `unlessRunning`, kept. Returns whether the agent is removed; requests can no longer start it.
	 */
	remove(record: () => Promise<void>, unlessRunning: boolean): Promise<boolean> {
		return this.#serialize(async () => {
			const left = (await this.life?.activity()) ?? "none";
			if (left === "running" && unlessRunning) return false;
			// Also cancels a start that is requested or planned.
			if (left !== "none" && (await this.stop("reeve")).outcome === "not_proven") return false;
			await record();
			this.#isRemoved = true;
			this.life?.release();
			return true;
		});
	}

	/** Runs an operation after all earlier ones. */
	#serialize<T>(operation: () => Promise<T>): Promise<T> {
		return this.#operations.run(() => {
			if (!this.#isRemoved) return operation();
			throw new ReeveError("agent_not_found", `agent ${this.id} was removed from the fleet`);
		});
	}

	/** Stops its run now, whatever else was requested. A call agent has nothing to stop. */
	async stop(by: Asker, timeoutMs?: number, why: string | null = null): Promise<StopReport> {
		if (this.life !== null) return this.life.stop(by, timeoutMs, why);
		const report = { ...NOTHING_STOPPED, durationMs: 0 };
		await this.#agent.serialize(() => this.#agent.save({}, [drainedEvent(this.id, report)]));
		return report;
	}

	/** Stops it for now; the holder decides when it may start again. */
	hold(timeoutMs?: number, why: string | null = null): Promise<StopReport> {
		return this.#serialize(() => this.stop("reeve", timeoutMs, why));
	}

	/** Starts a held agent, if it is still wanted up. */
	async startHeld(): Promise<StartOutcome> {
		const { start } = await this.#serialize(async () => ({ start: this.#requestStart(true) }));
		return start;
	}

	async finishHibernation(runId: string): Promise<void> {
		await this.#serialize(async () => {
			const { agent, run } = this.snapshot();
			// Something may have needed it since the decision.
			if (agent.hibernation?.runId !== runId || run?.runId !== runId) return;
			const needed = this.#needed();
			if (needed === null) await this.stop("reeve");
			else await this.session?.endHibernation(needed);
		});
	}

	async wakeIfNeeded(): Promise<void> {
		const needed = this.#needed();
		if (needed !== null) await this.wake(needed);
	}

	/** Starts a hibernated agent; null if it does not hibernate. */
	async wake(by: WakeCause): Promise<StartOutcome | null> {
		const { start } = await this.#serialize(async () => {
			if (!this.snapshot().agent.hibernation) return { start: Promise.resolve(null) };
			await this.session?.endHibernation(by);
			return { start: this.#requestStart(true) };
		});
		return start;
	}

	/** Completes a stop or restart that an earlier daemon had begun. */
	async finishStop(by: Asker, why?: string): Promise<void> {
		if (this.snapshot().agent.desired === "down") {
			await this.down(by);
			return;
		}
		const { outcome } = await this.stopToRestart(by, undefined, why);
		if (outcome !== "not_proven") await this.startAgain(true);
	}

	/**
	 * An agent that was halted because it could not be started (a missing program or directory, no
	 * permission) is checked again on request, so that fixing the cause is enough.
	 */
	async #recheck(): Promise<void> {
		const { agent, lastExit } = this.snapshot();
		if (agent.crash.policy !== "halted" || lastExit?.cause !== "spawn_error") return;
		const problem = await this.#sessions.checkStart(agent.spec);
		await this.#record(({ crash }) =>
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

	/** A call agent never starts. */
	#requestStart(withContinue: boolean): Promise<StartOutcome> {
		return this.life?.requestStart(withContinue) ?? Promise.resolve("stopped");
	}

	/** Changes the agent's record. */
	#record(
		change: (agent: Agent) => readonly [changes: Partial<Agent>, events: readonly NewEvent[]],
		also?: (transaction: StoreTransaction) => void,
	): Promise<void> {
		return this.#agent.serialize(async () => {
			const [changes, events] = change(this.#agent.now);
			await this.#agent.save(changes, events, also);
			this.life?.recorded(changes);
		});
	}

	async #setDesired(desired: "up" | "down", by: Asker): Promise<void> {
		await this.session?.endHibernation(by === "operator" ? "operator" : "settings");
		const event: NewEvent = { type: "agent.desired", agent: this.id, data: { desired, by } };
		return this.#record((agent) => [
			{ desired, waiting: false, ...(desired === "down" ? this.#reasonWhenDown(by) : {}) },
			agent.desired === desired ? [] : [event],
		]);
	}

	/** The exit of a current run has its own reason; a halted agent keeps the one it was halted for. */
	#reasonWhenDown(by: Asker): Partial<Agent> {
		const { agent, run, lastExit } = this.snapshot();
		if (run !== null || agent.crash.policy === "halted") return {};
		const isCompleted = hasCompleted({ agent: { ...agent, desired: "down" }, run, lastExit });
		return { reason: isCompleted && lastExit !== null ? lastExit.reason : STOPPED_BY[by] };
	}
}
