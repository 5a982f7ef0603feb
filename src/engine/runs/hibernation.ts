/** The hibernation of a session agent: it is stopped while idle, and its next start continues the conversation. */

import { renderHibernation, type WakeCause, WOKEN_BY } from "../../core/hibernation.js";
import { renderElapsed } from "../../core/units.js";
import type { ExitConsequences } from "./agent-life.js";
import type { LifeWorld } from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type SessionRun, toStoredRun } from "./run.js";

/** All changes are made in the mailbox of the agent. */
export class Hibernation {
	readonly #agent: PersistedAgent;
	readonly #world: LifeWorld;
	readonly #operations: { finishHibernation(runId: string): Promise<void> };
	readonly #current: () => SessionRun | null;

	constructor(
		agent: PersistedAgent,
		world: LifeWorld,
		operations: { finishHibernation(runId: string): Promise<void> },
		current: () => SessionRun | null,
	) {
		this.#agent = agent;
		this.#world = world;
		this.#operations = operations;
		this.#current = current;
	}

	/** Whether the run is being stopped to hibernate. */
	isOf(run: SessionRun): boolean {
		const { hibernation } = this.#agent.now;
		return this.#current() === run && run.askedBy === "reeve" && hibernation?.runId === run.runId;
	}

	/**
	 * Records the decision; from then on nothing is typed into the agent. Checked again in turn, because a message or a
	 * terminal may have come since the look.
	 */
	async begin(run: SessionRun, idleMs: number, freedBytes: number | null): Promise<void> {
		const { inbox, viewers, drafts, clock, onError } = this.#world;
		const { id, desired } = this.#agent.now;
		const isEnding = run.askedBy !== null || run.failing !== null || run.gone !== null;
		if (this.#current() !== run || isEnding || desired === "down") return;
		if (inbox.head(id) !== null || viewers.count(id) > 0 || drafts.has(id, [])) return;
		// Before the commit, during which nothing may be typed either.
		run.askedBy = "reeve";
		const sinceMs = clock.now().wallMs;
		const hibernation = { runId: run.runId, sinceMs, idleMs, freedBytes };
		const reason = `idle for ${renderElapsed(idleMs)}: hibernates`;
		try {
			await this.#agent.save({ hibernation, reason }, [], (transaction) =>
				transaction.putRun(toStoredRun(id, run, "running")),
			);
		} catch (error) {
			run.askedBy = null;
			throw error;
		}
		this.#operations.finishHibernation(run.runId).catch((error: unknown) => onError(id, error));
	}

	/** Returns a run that was not asked to exit yet, which continues; null if the agent needs a start. */
	async end(by: WakeCause): Promise<SessionRun | null> {
		const { id, hibernation } = this.#agent.now;
		if (!hibernation) return null;
		const run = this.#current();
		const goesOn = run !== null && this.isOf(run) && !run.isAsked && run.gone === null;
		const asleepMs = Math.max(0, this.#world.clock.now().wallMs - hibernation.sinceMs);
		const data = { by, asleep_ms: asleepMs };
		await this.#agent.save(
			{ hibernation: null, reason: goesOn ? "running" : WOKEN_BY[by] },
			[{ type: "agent.woken", agent: id, data }],
			(transaction) => {
				if (!goesOn) return;
				transaction.putRun(toStoredRun(id, { ...run, askedBy: null }, "running"));
			},
		);
		if (!goesOn) return null;
		run.askedBy = null;
		return run;
	}

	/** Additions to the record of an exit with which the agent hibernates. */
	endedBy({ runId }: SessionRun): Pick<ExitConsequences, "changes" | "events"> {
		const { id, hibernation } = this.#agent.now;
		if (hibernation?.runId !== runId) return { changes: {}, events: [] };
		const { idleMs, freedBytes } = hibernation;
		const data = { idle_ms: idleMs, freed_bytes: freedBytes };
		return {
			changes: { reason: renderHibernation(hibernation) },
			events: [{ type: "agent.hibernated", agent: id, run_id: runId, data }],
		};
	}
}
