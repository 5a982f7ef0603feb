/**
 * Processes that outlived the agent's own process. They get the grace period of a stop, and the agent
 * does not start before they are proven gone (S18). If that cannot be proven, it is retried.
 */

import type { NewEvent } from "../../ports/store.js";
import { scheduleLong } from "../waiting.js";
import { leftoversEvent } from "./agent-record.js";
import { endTree, type TreeEnd, type TreeEnding } from "./end-tree.js";
import type { LifeWorld } from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type SessionRun, toStoredRun } from "./run.js";

const TRY_AGAIN_MS = 10_000;

export interface LeftTreeListener {
	/** The tree is gone and that is recorded. `wasStuck`: it could not be proven before. */
	readonly onGone: (wasStuck: boolean) => void;
	/** The tree cannot be proven gone for now. */
	readonly onStuck: () => void;
}

export class LeftTree {
	readonly #run: SessionRun;
	readonly #world: LifeWorld;
	readonly #agent: PersistedAgent;
	readonly #news: LeftTreeListener;
	#ending: TreeEnding | null = null;
	#attempt: Promise<TreeEnd> | null = null;
	#cancelRetry = () => {};
	#stuck: string | null = null;

	constructor(run: SessionRun, world: LifeWorld, agent: PersistedAgent, news: LeftTreeListener) {
		this.#run = run;
		this.#world = world;
		this.#agent = agent;
		this.#news = news;
	}

	/** Why it cannot be proven gone; null if it still may be. */
	get stuck(): string | null {
		return this.#stuck;
	}

	/** Kills the tree within the grace period. A running attempt is shortened to it. */
	end(graceMs: number): Promise<TreeEnd> {
		const untilMs = this.#world.clock.now().steadyMs + graceMs;
		if (this.#ending !== null) this.#ending.untilMs = Math.min(this.#ending.untilMs, untilMs);
		this.#attempt ??= this.#try(untilMs);
		return this.#attempt;
	}

	release(): void {
		this.#cancelRetry();
		if (this.#ending !== null) this.#ending.isCalledOff = true;
	}

	async #try(untilMs: number): Promise<TreeEnd> {
		const { clock, onError } = this.#world;
		this.#cancelRetry();
		const sinceMs = clock.now().steadyMs;
		const ending = {
			untilMs,
			asked: new Set<string>(),
			onKill: async () => {},
			isCalledOff: false,
		};
		this.#ending = ending;
		const end = await endTree(this.#run, clock, ending).catch(
			(error: Error): TreeEnd => ({ gone: false, reason: error.message }),
		);
		this.#attempt = null;
		this.#ending = null;
		if (ending.isCalledOff) return end;
		const durationMs = clock.now().steadyMs - sinceMs;
		await this.#agent.serialize(() =>
			end.gone ? this.#recordGone(end, durationMs) : this.#recordStuck(end.reason),
		);
		if (!end.gone) {
			const again = () => void this.end(0).catch((error) => onError(this.#agent.now.id, error));
			this.#cancelRetry = scheduleLong(clock, TRY_AGAIN_MS, again);
		}
		return end;
	}

	async #recordGone(end: Extract<TreeEnd, { gone: true }>, durationMs: number): Promise<void> {
		const { id } = this.#agent.now;
		const events = end.found.length === 0 ? [] : [leftoversEvent(id, this.#run, end, durationMs)];
		await recordTreeGone(this.#agent, this.#run, events);
		this.#news.onGone(this.#stuck !== null);
	}

	async #recordStuck(why: string): Promise<void> {
		const reason = `processes of its last run cannot be killed: ${why}`;
		const about = { agent: this.#agent.now.id, run_id: this.#run.runId };
		const event: NewEvent = { ...about, type: "agent.leftovers_stuck", data: { reason } };
		// Once, not at every attempt.
		if (this.#stuck === null) await this.#agent.save({ reason }, [event]);
		this.#stuck = reason;
		this.#news.onStuck();
	}
}

/** No process of a run is alive: it has ended, and the backend can forget it. */
export async function recordTreeGone(
	agent: PersistedAgent,
	run: SessionRun,
	events: readonly NewEvent[],
): Promise<void> {
	await agent.save({}, events, (transaction) =>
		transaction.putRun(toStoredRun(agent.now.id, run, "ended")),
	);
	forgetRun(run);
}

/** The backend's own bookkeeping; if it fails, the record is just kept longer. */
export function forgetRun({ backend, runId }: SessionRun): void {
	backend.forget(runId).catch(() => {});
}
