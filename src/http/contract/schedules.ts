/** The routes of schedules. */

import { z } from "zod";
import { scheduleShape } from "../../config/spec-schema.js";
import { SCHEDULE_ACTIONS, SLOT_STATUSES } from "../../core/schedule.js";
import { defineRoutes } from "./route.js";
import { listOf, orNull, shape, time } from "./shapes.js";

const slot = shape("ScheduleSlot", {
	id: z.string(),
	slot_at: time.describe("the time of the slot, which may be earlier than that of the decision"),
	manual: z.boolean().describe("whether it was requested"),
	status: z
		.enum(SLOT_STATUSES)
		.describe(
			"`queued` waits for the previous slot, `fired` is in progress, `skipped` did not fire because of a rule of the schedule",
		),
	action: z.enum(SCHEDULE_ACTIONS),
	reason: z.string().describe("the reason for its status, as text"),
	decided_at: time,
	ended_at: time.nullable(),
	missed: z
		.object({ count: z.number(), until: time.describe("the last one") })
		.readonly()
		.nullable()
		.describe("for slots that were skipped together: how many"),
	started: z
		.object({
			type: z.enum(["task", "plan", "message", "typed", "restart"]),
			id: z.string().describe("of the task, plan or message; the agent of a restart"),
		})
		.readonly()
		.nullable()
		.describe("the action that it started"),
});
/** A decided slot of a schedule. */
export type ScheduleSlotJson = z.output<typeof slot>;

const schedule = shape("Schedule", {
	...scheduleShape,
	timezone: z.string().describe("the time zone that applies"),
	fleet_file: z.string(),
	paused_at: orNull(time, "null if it is not paused"),
	next_at: orNull(time, "the next slot; null if it is paused"),
	blocked: orNull(z.string(), "why a slot would be skipped now, as text"),
	open: listOf(slot).describe("slots that are queued or in progress"),
	last: slot.nullable().describe("the newest decided slot"),
});
/** A schedule. */
export type ScheduleJson = z.output<typeof schedule>;

const params = z.object({
	id: z.string().min(1).max(200).describe("the schedule, as `project:name`"),
});

export const scheduleRoutes = defineRoutes({
	"GET /api/v1/schedules": {
		summary: "Lists schedules.",
		access: "read",
		stores: "never",
		limited: "filtered",
		reply: z.object({ schedules: listOf(schedule) }),
		errors: [],
	},
	"GET /api/v1/schedules/:id": {
		summary: "Returns one schedule with its newest slots.",
		access: "read",
		stores: "never",
		limited: "subjects",
		params,
		query: z.object({ limit: z.coerce.number().int().min(1).max(1_000).default(20) }),
		reply: z.object({ schedule, slots: listOf(slot).describe("newest first") }),
		errors: ["schedule_not_found"],
	},
	"POST /api/v1/schedules/:id/run": {
		summary:
			"Fires a schedule now. Its rules apply, except its times: if the previous slot is still running, `overlap` decides.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params,
		reply: slot,
		errors: ["schedule_not_found", "daemon_stopping", "write_failed"],
	},
	"POST /api/v1/schedules/:id/pause": {
		summary: "Pauses a schedule: no slot fires until it is resumed.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params,
		reply: z.object({ schedule, changed: z.boolean().describe("false if it was paused already") }),
		errors: ["schedule_not_found"],
	},
	"POST /api/v1/schedules/:id/resume": {
		summary: "Resumes a paused schedule with its next slot.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params,
		reply: z.object({ schedule, changed: z.boolean().describe("false if it was not paused") }),
		errors: ["schedule_not_found"],
	},
});
