/**
 * The usage of agents, and whether it exceeds their budget. Each agent's usage is stored together with
 * the read position of its record: no line is counted twice, and a used-up budget stays used up. A hold is not stored: it follows from the usage of
 * the day.
 */

import { reportsTokens } from "../../config/known-adapters.js";
import type { AgentSpec } from "../../config/spec.js";
import {
	type DailyBudget,
	decideBudget,
	decideLow,
	type SharedBudget,
	type UsedBudget,
	useOf,
} from "../../core/budget.js";
import {
	type AgentUsage,
	addUsage,
	countReading,
	countUsage,
	NEVER_USED,
	NO_USAGE,
	type Usage,
	type UsageCursor,
	type UsageReading,
	usageOn,
} from "../../core/usage.js";
import type { Calendar, Clock, Day } from "../../ports/clock.js";
import type { NewEvent, Store } from "../../ports/store.js";
import { createMailbox } from "../mailbox.js";
import type { NewUsage } from "../runs/session-world.js";

export interface UsageWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly calendar: Calendar;
	/** The account of an agent, by its id; null without one. */
	readonly accountOf: (agentId: string) => string | null;
}

/** An agent's usage as shown by the API. */
export interface UsageView {
	readonly today: Usage;
	readonly ever: Usage;
	readonly budget: DailyBudget | null;
	/** Why it is held, and until when; null if it is not. */
	readonly held: { readonly reason: string; readonly untilMs: number } | null;
}

export class UsageBook {
	readonly #world: UsageWorld;
	readonly #usage = new Map<string, AgentUsage>();
	/** Serialized: simultaneous readings are all counted. */
	readonly #turns = createMailbox();

	constructor(world: UsageWorld) {
		this.#world = world;
	}

	/** Restores the usage counted by an earlier daemon. */
	recover(): void {
		for (const { agentId, usage } of this.#world.store.readUsage()) {
			this.#usage.set(agentId, usage);
		}
	}

	of(agentId: string): AgentUsage {
		return this.#usage.get(agentId) ?? NEVER_USED;
	}

	/** Null for an agent that does not report its usage. */
	view(spec: AgentSpec): UsageView | null {
		if (spec.kind === "worker" || !reportsTokens(spec.adapter)) return null;
		const usage = this.of(spec.id);
		const { day, endsAtMs } = this.#today();
		const reason = this.held(spec);
		return {
			today: usageOn(usage, day),
			ever: usage.ever,
			budget: spec.budget ?? null,
			held: reason === null ? null : { reason, untilMs: endsAtMs },
		};
	}

	/** The usage of an agent on each of its last days, newest first. */
	days(agentId: string): readonly (readonly [day: string, usage: Usage])[] {
		const { days, day, today } = this.of(agentId);
		// Stored by an older version, which remembered the last day only.
		return days?.toReversed() ?? (day === "" ? [] : [[day, today]]);
	}

	/** Why the agent may not continue today; null if it may. */
	held(spec: AgentSpec): string | null {
		const { day } = this.#today();
		const usage = this.of(spec.id);
		return decideBudget(this.#budgets(spec, usage, day), usage.releasedOn, day);
	}

	/** The budgets that apply to an agent, if its usage were this. */
	#budgets(spec: AgentSpec, usage: AgentUsage, day: string): readonly UsedBudget[] {
		if (spec.kind === "worker") return [];
		const { budget, sharedBudgets = [] } = spec;
		const own = usageOn(usage, day);
		return [
			...(budget === undefined ? [] : [{ owner: null, use: useOf(own, budget) }]),
			...sharedBudgets.map((shared) => ({
				owner: shared,
				use: useOf(addUsage(own, this.#usageOfOthers(spec.id, shared, day)), shared),
			})),
		];
	}

	/** The usage of the other agents of a project or an account. */
	#usageOfOthers(agentId: string, { of, name }: SharedBudget, day: string): Usage {
		let sum = NO_USAGE;
		for (const [id, usage] of this.#usage) {
			if (id === agentId) continue;
			const isMember =
				of === "project" ? id.startsWith(`${name}:`) : this.#world.accountOf(id) === name;
			if (isMember) sum = addUsage(sum, usageOn(usage, day));
		}
		return sum;
	}

	/** Counts new lines of a session's record, together with the read position. */
	addRead(spec: AgentSpec, added: NewUsage): Promise<void> {
		return this.#change(spec, (before) => {
			const today = this.#today().day;
			const cursor = before.cursor?.path === added.path ? before.cursor : newCursor(added.path);
			let { seen } = cursor;
			let usage = before;
			for (const reading of added.readings) {
				const counted = countReading(seen, reading);
				seen = counted.seen;
				const day = reading.atMs === null ? today : this.#world.calendar.dayOf(reading.atMs).day;
				usage = countUsage(usage, counted.added, day, today);
			}
			return { ...usage, cursor: { ...cursor, ...placeOf(cursor, added), seen } };
		});
	}

	/** Counts the usage of one call; of a running total, the increase. */
	addCall(spec: AgentSpec, used: UsageReading): Promise<void> {
		const { day } = this.#today();
		return this.#change(spec, (before) => {
			const sums = before.cursor?.seen ?? [];
			const { added, seen } = countReading(used.isTotal ? sums : [], used);
			const cursor = used.isTotal ? { path: "", offset: 0, seen } : before.cursor;
			return { ...countUsage(before, added, day, day), cursor };
		});
	}

	/** The operator lifts the budget for the rest of the day. */
	async release(spec: AgentSpec): Promise<void> {
		if (this.held(spec) === null) return;
		await this.#change(spec, (before) => ({ ...before, releasedOn: this.#today().day }));
	}

	async forget(agentId: string): Promise<void> {
		await this.#turns.run(async () => {
			if (!this.#usage.has(agentId)) return;
			await this.#world.store.commit((transaction) => transaction.removeUsage(agentId));
			this.#usage.delete(agentId);
		});
	}

	#today(): Day {
		return this.#world.calendar.dayOf(this.#world.clock.now().wallMs);
	}

	#change(spec: AgentSpec, change: (before: AgentUsage) => AgentUsage): Promise<void> {
		return this.#turns.run(async () => {
			const { store, clock } = this.#world;
			const today = this.#today();
			const before = this.of(spec.id);
			const changed = change(before);
			const budgets = this.#budgets(spec, changed, today.day);
			const low = decideLow(this.#budgets(spec, before, today.day), budgets);
			const reason = decideBudget(budgets, changed.releasedOn, today.day);
			const isNews = reason !== null && changed.toldOn !== today.day;
			const usage = isNews ? { ...changed, toldOn: today.day } : changed;
			await store.commit((transaction) => {
				transaction.putUsage({ agentId: spec.id, usage });
				const nowMs = clock.now().wallMs;
				if (low !== null) {
					transaction.appendEvent(budgetEvent("agent.budget_low", spec.id, low, today), nowMs);
				}
				if (!isNews) return;
				transaction.appendEvent(budgetEvent("agent.over_budget", spec.id, reason, today), nowMs);
			});
			this.#usage.set(spec.id, usage);
		});
	}
}

const newCursor = (path: string): UsageCursor => ({ path, offset: 0, seen: [] });

/** The read position after these lines. */
function placeOf(cursor: UsageCursor, { beside, offset }: NewUsage): Partial<UsageCursor> {
	return beside === null ? { offset } : { beside: { ...cursor.beside, [beside]: offset } };
}

function budgetEvent(
	type: "agent.budget_low" | "agent.over_budget",
	agent: string,
	reason: string,
	{ endsAtMs }: Day,
): NewEvent {
	return { type, agent, data: { reason, until: new Date(endsAtMs).toISOString() } };
}
