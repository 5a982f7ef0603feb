/**
 * Decides which slot of a schedule is next, which slots were missed, and what happens with a due one. A
 * slot is a wall time, and each is decided once: the plan only moves forward, whatever the clock does. The slots
 * themselves come from `SlotTimes`, since reading a cron expression needs a package.
 */

import { renderElapsed } from "./units.js";

export const OVERLAP_CHOICES = ["skip", "queue", "replace"] as const;
/** The treatment of a slot while the previous one is still running. */
export type Overlap = (typeof OVERLAP_CHOICES)[number];

export const CATCH_UP_CHOICES = ["none", "once"] as const;
/** Whether the last of the slots that were missed fires late. */
export type CatchUp = (typeof CATCH_UP_CHOICES)[number];

export const SLOT_STATUSES = [
	"queued",
	"fired",
	"succeeded",
	"failed",
	"cancelled",
	"skipped",
] as const;
/** `queued` waits for the previous slot; `fired` is in progress; `skipped` never fired. */
export type SlotStatus = (typeof SLOT_STATUSES)[number];

export const SCHEDULE_ACTIONS = ["send", "call", "plan", "restart"] as const;
export type ScheduleActionType = (typeof SCHEDULE_ACTIONS)[number];

/** The slots of a schedule. */
export interface SlotTimes {
	/** The first slot after a time; `slotMs` is any slot. Null if there is none. */
	next(afterMs: number, slotMs: number): number | null;
}

/** When a schedule has slots. */
export interface SlotRule {
	/** Null for a cron expression. */
	readonly everyMs: number | null;
	readonly jitterMs: number;
	readonly catchUp: CatchUp;
}

/** The next slot of a schedule. Stored; all times are wall times. */
export interface SlotPlan {
	/** Null if there is none. */
	readonly slotMs: number | null;
	/** The slot, and its share of the jitter. */
	readonly dueAtMs: number;
	/** The newest decided slot; null before the first one. */
	readonly lastMs: number | null;
	/** Grows when the clock was set back so far that the slots start again, so that no two have the same name. */
	readonly era: number;
}

export interface MissedSlots {
	readonly count: number;
	/** The count stops at a limit. */
	readonly isMore: boolean;
	readonly fromMs: number;
	readonly untilMs: number;
}

export interface DueSlot {
	readonly slotMs: number;
	readonly era: number;
	readonly lateMs: number;
	/** Too late to fire by its rule. */
	readonly isTooLate: boolean;
}

export interface SlotDecision {
	/** The plan from now on. */
	readonly plan: SlotPlan;
	readonly due: DueSlot | null;
	/** Earlier slots, which no longer fire. */
	readonly missed: MissedSlots | null;
}

/** A daemon that restarts, or a busy host, is no downtime. */
const ON_TIME_MS = 60_000;
/** A clock that was set back further than this had been wrong before. */
const SET_BACK_MS_MAX = 86_400_000;
/** More missed slots are not counted. */
const MISSED_MAX = 1_000;

/** The slots of a fixed interval. */
export function intervalTimes(everyMs: number): SlotTimes {
	return {
		next: (afterMs, slotMs) => slotMs + (Math.floor((afterMs - slotMs) / everyMs) + 1) * everyMs,
	};
}

/** The plan of a new schedule, or of one whose times have changed. */
export function firstPlan(
	rule: SlotRule,
	times: SlotTimes,
	{ nowMs, random }: { readonly nowMs: number; readonly random: number },
	before: SlotPlan | null = null,
): SlotPlan {
	const slotMs = rule.everyMs === null ? times.next(nowMs, nowMs) : nowMs + rule.everyMs;
	const era = before === null ? 0 : before.era + 1;
	return planFor(rule, slotMs, { lastMs: null, era }, random);
}

/** The slot that is due now, and the plan that follows. */
export function decideSlot(
	plan: SlotPlan,
	rule: SlotRule,
	times: SlotTimes,
	{ nowMs, random }: { readonly nowMs: number; readonly random: number },
): SlotDecision {
	const { slotMs } = plan;
	if (slotMs === null) return { plan, due: null, missed: null };
	if (slotMs > nowMs) {
		return {
			plan: whenSetBack(plan, slotMs, rule, times, { nowMs, random }),
			due: null,
			missed: null,
		};
	}
	const latestMs = latestSlot(times, slotMs, nowMs);
	const isOld = latestMs > slotMs;
	const missed = isOld ? countMissed(times, slotMs, latestMs) : null;
	const latest = isOld
		? planFor(rule, latestMs, { ...plan, lastMs: missed?.untilMs ?? null }, random)
		: plan;
	if (latest.dueAtMs > nowMs) return { plan: latest, due: null, missed };
	const lateMs = nowMs - latest.dueAtMs;
	const isTooLate = lateMs > ON_TIME_MS && rule.catchUp === "none";
	const nextMs = times.next(latestMs, latestMs);
	return {
		plan: planFor(rule, nextMs, { lastMs: latestMs, era: plan.era }, random),
		due: { slotMs: latestMs, era: plan.era, lateMs, isTooLate },
		missed,
	};
}

/**
 * A clock that was set back must not silence a schedule: an interval is counted from now, and a clock that was wrong by
 * more than a day starts the slots of a cron expression again. A smaller step waits, since those slots have been
 * decided.
 */
function whenSetBack(
	plan: SlotPlan,
	slotMs: number,
	rule: SlotRule,
	times: SlotTimes,
	now: { readonly nowMs: number; readonly random: number },
): SlotPlan {
	const { nowMs } = now;
	if (rule.everyMs !== null) {
		return slotMs - nowMs > rule.everyMs ? firstPlan(rule, times, now, plan) : plan;
	}
	if (plan.lastMs !== null) {
		return plan.lastMs - nowMs > SET_BACK_MS_MAX ? firstPlan(rule, times, now, plan) : plan;
	}
	const nextMs = times.next(nowMs, slotMs);
	return nextMs !== null && nextMs < slotMs ? firstPlan(rule, times, now, plan) : plan;
}

function planFor(
	{ jitterMs }: SlotRule,
	slotMs: number | null,
	{ lastMs, era }: Pick<SlotPlan, "lastMs" | "era">,
	random: number,
): SlotPlan {
	const dueAtMs = (slotMs ?? 0) + Math.floor(jitterMs * random);
	return { slotMs, dueAtMs, lastMs, era };
}

/** The last slot at or before a time, found by bisection: a year of missed slots takes as long as a day. */
function latestSlot(times: SlotTimes, slotMs: number, nowMs: number): number {
	const isPast = (ms: number) => (times.next(ms, slotMs) ?? Number.POSITIVE_INFINITY) <= nowMs;
	let [low, high] = [slotMs - 1, nowMs];
	while (high - low > 1) {
		const middle = low + (high - low) / 2;
		if (isPast(middle)) low = middle;
		else high = middle;
	}
	return times.next(low, slotMs) ?? slotMs;
}

function countMissed(times: SlotTimes, fromMs: number, latestMs: number): MissedSlots {
	let count = 1;
	let untilMs = fromMs;
	for (;;) {
		const nextMs = times.next(untilMs, fromMs) ?? latestMs;
		if (nextMs >= latestMs) return { count, isMore: false, fromMs, untilMs };
		if (count >= MISSED_MAX) return { count, isMore: true, fromMs, untilMs };
		count += 1;
		untilMs = nextMs;
	}
}

/** The facts about the action of a due slot. */
export interface FiringFacts {
	readonly overlap: Overlap;
	readonly due: Pick<DueSlot, "lateMs" | "isTooLate"> | null;
	/** The work of the previous slot that is still running, as text; null if there is none. */
	readonly running: string | null;
	/** How many slots wait for the previous one. */
	readonly queued: number;
	/** Why the action is not possible now, as text; null if it is. */
	readonly blocked: string | null;
}

export interface FiringDecision {
	readonly action: "fire" | "skip" | "queue" | "replace";
	readonly reason: string;
}

/** The maximum number of slots that wait for an earlier one. */
const QUEUED_MAX = 100;

export function decideFiring({
	overlap,
	due,
	running,
	queued,
	blocked,
}: FiringFacts): FiringDecision {
	if (due?.isTooLate) {
		const reason = `${renderElapsed(due.lateMs)} late, and \`catch_up\` is \`none\``;
		return { action: "skip", reason };
	}
	if (blocked !== null) return { action: "skip", reason: blocked };
	if (overlap === "queue" && (running !== null || queued > 0)) {
		const waitsFor = running ?? "an earlier slot is already queued";
		if (queued < QUEUED_MAX) return { action: "queue", reason: waitsFor };
		return { action: "skip", reason: `${queued} slots wait already` };
	}
	if (running === null) return { action: "fire", reason: firedReason(due) };
	if (overlap === "replace") return { action: "replace", reason: `replaces the previous slot` };
	return { action: "skip", reason: running };
}

function firedReason(due: FiringFacts["due"]): string {
	if (due === null) return "on request";
	return due.lateMs > ON_TIME_MS ? `${renderElapsed(due.lateMs)} late` : "on time";
}

/** Why undecided slots no longer fire, as text. */
export function renderMissed({ count, isMore }: MissedSlots): string {
	const slots = count === 1 ? "this slot" : `${isMore ? "more than " : ""}${count} slots`;
	return `a later slot was due before ${slots} could fire`;
}

export function isOpenSlot(status: SlotStatus): boolean {
	return status === "queued" || status === "fired";
}
