/**
 * The schedules and their open slots, as stored. A slot is claimed, and what it starts is recorded, in one commit: it
 * happens once, whatever dies in between. The end of its work ends a slot, in the same commit.
 */

import { timesOf } from "../../config/cron.js";
import type { ScheduleSpec } from "../../config/spec.js";
import { readStoredSchedule, renderStoredSchedule } from "../../config/spec-schema.js";
import { isOpenSlot, type SlotPlan, type SlotTimes } from "../../core/schedule.js";
import type { StoredSchedule, StoredSlot } from "../../ports/schedule-store.js";
import type { NewEvent, Store, StoreTransaction } from "../../ports/store.js";
import type { MessageEnd } from "../attending/inbox.js";
import type { EndedWork } from "../tasks/book.js";

/** A stored schedule with its validated spec. */
export interface Schedule extends Omit<StoredSchedule, "spec"> {
	readonly spec: ScheduleSpec;
	readonly times: SlotTimes;
}

/** A commit in progress. */
export interface SlotChange {
	readonly transaction: StoreTransaction;
	/** Wall time. */
	readonly atMs: number;
}

/** How many slots of a schedule are searched for its last message. */
const SEARCHED_MAX = 20;

export class SlotBook {
	readonly #store: Store;
	readonly #timezone: string;
	readonly #schedules = new Map<string, Schedule>();
	readonly #open = new Map<string, StoredSlot>();
	/** The newest message that was delivered, by schedule. */
	readonly #delivered = new Map<string, StoredSlot>();

	constructor(store: Store, timezone: string) {
		this.#store = store;
		this.#timezone = timezone;
	}

	/** Restores the stored ones. Returns those that cannot be read, with the reason. */
	load(): readonly (readonly [id: string, problem: string])[] {
		const problems: (readonly [string, string])[] = [];
		for (const stored of this.#store.readSchedules()) {
			const { spec, problem } = readStoredSchedule(stored.spec);
			if (spec === null) problems.push([stored.id, problem]);
			else this.#schedules.set(stored.id, this.scheduleOf(stored, spec));
		}
		for (const slot of this.#store.readOpenSlots()) this.#open.set(slot.id, slot);
		for (const id of this.#schedules.keys()) {
			const slots = this.#store.readSlots(id, SEARCHED_MAX);
			const last = slots.find(
				({ started, status }) => started?.type === "message" && status === "succeeded",
			);
			if (last !== undefined) this.#delivered.set(id, last);
		}
		return problems;
	}

	scheduleOf(stored: Omit<StoredSchedule, "spec">, spec: ScheduleSpec): Schedule {
		return { ...stored, spec, times: timesOf(spec, this.#timezone) };
	}

	all(): readonly Schedule[] {
		return [...this.#schedules.values()];
	}

	get(id: string): Schedule | undefined {
		return this.#schedules.get(id);
	}

	/** Open slots of a schedule, oldest first. */
	open(schedule: string, status?: StoredSlot["status"]): readonly StoredSlot[] {
		return [...this.#open.values()].filter(
			(slot) => slot.schedule === schedule && (status === undefined || slot.status === status),
		);
	}

	isOpen(slotId: string): boolean {
		return this.#open.has(slotId);
	}

	/** The newest message of a schedule that was delivered. */
	delivered(schedule: string): StoredSlot | null {
		return this.#delivered.get(schedule) ?? null;
	}

	put({ transaction }: SlotChange, schedule: Schedule): void {
		const { times: _, ...stored } = schedule;
		transaction.putSchedule({ ...stored, spec: renderStoredSchedule(stored.spec) });
		set(transaction, this.#schedules, schedule.id, schedule);
	}

	putPlan(change: SlotChange, id: string, plan: SlotPlan): void {
		const schedule = this.#schedules.get(id);
		if (schedule !== undefined) this.put(change, { ...schedule, plan });
	}

	remove({ transaction }: SlotChange, id: string): void {
		transaction.removeSchedule(id);
		for (const slot of this.open(id)) set(transaction, this.#open, slot.id, undefined);
		set(transaction, this.#delivered, id, undefined);
		set(transaction, this.#schedules, id, undefined);
	}

	/** Records what was decided about a slot, with its event. */
	putSlot({ transaction, atMs }: SlotChange, slot: StoredSlot): void {
		const schedule = this.#schedules.get(slot.schedule);
		transaction.putSlot(slot);
		transaction.appendEvent(eventOf(slot, schedule?.spec ?? null), atMs);
		set(transaction, this.#open, slot.id, isOpenSlot(slot.status) ? slot : undefined);
		if (slot.status === "succeeded" && slot.started?.type === "message") {
			set(transaction, this.#delivered, slot.schedule, slot);
		}
	}

	/** Ends an open slot. The first end is final. */
	endSlot(
		change: SlotChange,
		slotId: string,
		status: "succeeded" | "failed" | "cancelled" | "skipped",
		reason: string,
	): void {
		const slot = this.#open.get(slotId);
		if (slot === undefined) return;
		this.putSlot(change, { ...slot, status, reason, endedAtMs: change.atMs });
	}

	/** A task or plan has ended. */
	workEnded(change: SlotChange, ended: EndedWork): void {
		const id = ended.type === "task" ? ended.task.taskId : ended.plan.planId;
		const slot = this.#startedBy(ended.type, id);
		if (slot === undefined) return;
		const { status, reason } = ended.type === "task" ? ended.task : ended.plan;
		const [outcome, text] = OUTCOMES[status] ?? (["failed", status] as const);
		const why = outcome === "succeeded" ? "" : `: ${reason}`;
		this.endSlot(change, slot.id, outcome, `${ended.type} ${text}${why}`);
	}

	/** A message was delivered, or never will be. */
	messageEnded(change: SlotChange, id: string, end: MessageEnd): void {
		const slot = this.#startedBy("message", id);
		if (slot === undefined) return;
		const [status, reason] = endOfMessage(end);
		this.endSlot(change, slot.id, status, reason);
	}

	#startedBy(type: "task" | "plan" | "message", id: string): StoredSlot | undefined {
		// A few slots are open at a time.
		for (const slot of this.#open.values()) {
			if (slot.started?.type === type && slot.started.id === id) return slot;
		}
		return undefined;
	}
}

const OUTCOMES: Readonly<Record<string, readonly ["succeeded" | "failed" | "cancelled", string]>> =
	{
		succeeded: ["succeeded", "succeeded"],
		dead_lettered: ["failed", "failed and is a dead letter"],
		failed: ["failed", "failed"],
		cancelled: ["cancelled", "was cancelled"],
	};

function endOfMessage(
	end: MessageEnd,
): readonly ["succeeded" | "failed" | "cancelled", reason: string] {
	switch (end.type) {
		case "delivered":
			if (end.confirmed) return ["succeeded", "delivered"];
			return ["succeeded", "typed; this CLI does not confirm messages"];
		case "dead":
			return ["failed", `not delivered: ${end.reason}`];
		case "discarded":
			return ["cancelled", "discarded before it was delivered"];
	}
}

/** The agent that the action of a schedule concerns; null for a plan. */
export function agentOf({ action }: ScheduleSpec): string | null {
	return action.type === "plan" ? null : action.agent;
}

function eventOf(slot: StoredSlot, spec: ScheduleSpec | null): NewEvent {
	const agent = spec === null ? null : agentOf(spec);
	const about = agent === null ? {} : { agent };
	const { schedule, reason } = slot;
	const slot_at = new Date(slot.slotMs).toISOString();
	const data = { schedule, slot: slot.id, slot_at, reason };
	switch (slot.status) {
		case "queued":
			return { ...about, type: "schedule.queued", data };
		case "fired": {
			const { action, started } = slot;
			const fired = { action, started: started === null ? null : idOf(started) };
			return { ...about, type: "schedule.fired", data: { ...data, ...fired } };
		}
		case "skipped": {
			const count = slot.missed?.count ?? 1;
			return { ...about, type: "schedule.skipped", data: { ...data, count } };
		}
		case "succeeded":
			return { ...about, type: "schedule.succeeded", data };
		case "failed":
			return { ...about, type: "schedule.failed", data };
		case "cancelled":
			return { ...about, type: "schedule.cancelled", data };
	}
}

/** The id of a slot, and the idempotency key of what it starts. */
export function slotIdOf(schedule: string, slotMs: number, era: number): string {
	const id = `${schedule}@${new Date(slotMs).toISOString()}`;
	return era === 0 ? id : `${id}#${era}`;
}

/** The id of what a slot has started. */
export function idOf(started: NonNullable<StoredSlot["started"]>): string {
	return "agent" in started && !("id" in started) ? started.agent : started.id;
}

/** Sets or, with undefined, removes an entry of a map, as part of a commit. */
function set<T>(
	{ onRollback }: Pick<StoreTransaction, "onRollback">,
	map: Map<string, T>,
	key: string,
	value: T | undefined,
): void {
	const before = map.get(key);
	onRollback(() => {
		if (before === undefined) map.delete(key);
		else map.set(key, before);
	});
	if (value === undefined) map.delete(key);
	else map.set(key, value);
}
