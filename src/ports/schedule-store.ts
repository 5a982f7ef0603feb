/** Stored schedules, and the outcomes of their slots. */

import type { ScheduleActionType, SlotPlan, SlotStatus } from "../core/schedule.js";

export interface StoredSchedule {
	/** `project:name`. */
	readonly id: string;
	/** Its fleet file, absolute. */
	readonly fleetFile: string;
	/** Position among the schedules of its file. */
	readonly position: number;
	/** A `ScheduleSpec` with keys in snake_case. */
	readonly spec: unknown;
	readonly plan: SlotPlan;
	/** When it was paused, in wall time; null if it is not. */
	readonly pausedAtMs: number | null;
}

/** A decided slot. */
export interface StoredSlot {
	/** Unique among all slots. */
	readonly id: string;
	readonly schedule: string;
	/** Wall time of the slot, which may differ from the time of the decision. */
	readonly slotMs: number;
	/** Whether an operator asked for it. */
	readonly manual: boolean;
	readonly status: SlotStatus;
	readonly action: ScheduleActionType;
	/** The reason for its status, as text. */
	readonly reason: string;
	readonly decidedAtMs: number;
	readonly endedAtMs: number | null;
	/** For skipped ones that share a record: how many, and the last one. */
	readonly missed: { readonly count: number; readonly untilMs: number } | null;
	/** The work that it has started: a task, a plan, a message or a restart. */
	readonly started: SlotWork | null;
}

export type SlotWork =
	| { readonly type: "task" | "plan"; readonly id: string }
	| { readonly type: "message"; readonly id: string; readonly agent: string }
	/** A message that is typed at once, into a program that is no agent CLI. */
	| { readonly type: "typed"; readonly agent: string }
	/** `runId`: the newest run at the time of the slot; null if there was none. */
	| { readonly type: "restart"; readonly agent: string; readonly runId: string | null };

export interface ScheduleWrites {
	putSchedule(schedule: StoredSchedule): void;
	/** With its slots. */
	removeSchedule(id: string): void;
	putSlot(slot: StoredSlot): void;
}

export interface ScheduleReads {
	readSchedules(): readonly StoredSchedule[];
	/** Slots that are queued or in progress, oldest first. */
	readOpenSlots(): readonly StoredSlot[];
	/** The newest slots of a schedule, newest first. */
	readSlots(schedule: string, limit: number): readonly StoredSlot[];
}
