/** Events of work that agents are asked to do: tasks, plans, dead letters, circuits and schedules. */

import type { EventDocs } from "./events.js";

const SLOT_DOCS = {
	schedule: "the schedule",
	slot: "id of the slot",
	slot_at: "time of the slot",
} as const;

export const WORK_EVENT_DOCS = {
	"circuit.changed": {
		meaning: "An agent's circuit opened, half opened or closed.",
		data: { from: "previous state", to: "new state", reason: "the reason, as text" },
	},
	"task.accepted": {
		meaning: "A task was accepted. It ends in exactly one final status.",
		data: {
			action: "the action for the agent",
			name: "its name in the plan",
			replay_of: "the dead letter that it replays",
			by: "who submitted it: the uid, or the token id",
			host: "of a task that the hosts of a cluster share: the host that accepted it",
		},
	},
	"task.changed": {
		meaning: "The status of a task changed.",
		data: {
			from: "previous status",
			to: "new status",
			attempt: "number of the current attempt",
			error: "the error of that attempt, if it failed",
			code: "the error code for callers, once the task is dead-lettered",
			duration_ms: "duration of that attempt, once it has finished",
			reason: "the reason, as text",
			host: "of a task that the hosts of a cluster share: the host of that attempt",
		},
	},
	"plan.accepted": {
		meaning: "A plan of several tasks was accepted.",
		data: {
			name: "name of the plan",
			tasks: "number of tasks",
			by: "who submitted it: the uid, or the token id",
		},
	},
	"plan.changed": {
		meaning: "The status of a plan changed.",
		data: { from: "previous status", to: "new status", reason: "the reason, as text" },
	},
	"dead_letter.replayed": {
		meaning: "A dead letter was replayed as a new task.",
		data: { as: "the new task" },
	},
	"dead_letter.discarded": { meaning: "The operator discarded a dead letter.", data: {} },
	"schedule.added": {
		meaning: "A fleet file added a schedule.",
		data: { schedule: "the schedule", fleet_file: "path of the fleet file" },
	},
	"schedule.changed": {
		meaning: "A reload changed a schedule.",
		data: { schedule: "the schedule" },
	},
	"schedule.removed": {
		meaning: "A schedule was removed from its fleet file.",
		data: { schedule: "the schedule" },
	},
	"schedule.fired": {
		meaning: "A slot of a schedule fired: its action is stored and in progress.",
		data: {
			...SLOT_DOCS,
			action: "send, call, plan or restart",
			started: "the id of the task, plan or message; the agent of a restart",
			reason: "on time, late by a duration, or on request",
		},
	},
	"schedule.queued": {
		meaning: "A slot waits until the previous one has ended.",
		data: { ...SLOT_DOCS, reason: "the work of the previous slot that is still running, as text" },
	},
	"schedule.skipped": {
		meaning: "A slot was skipped because of a rule of its schedule.",
		data: {
			...SLOT_DOCS,
			count: "number of slots that were skipped together, starting with this one",
			reason: "the rule, as text",
		},
	},
	"schedule.succeeded": {
		meaning:
			"The action of a slot succeeded: the task or plan, the delivery of the message, or the restart.",
		data: { ...SLOT_DOCS, reason: "the outcome, as text" },
	},
	"schedule.failed": {
		meaning: "A slot could not fire, or its action failed.",
		data: { ...SLOT_DOCS, reason: "the reason, as text" },
	},
	"schedule.cancelled": {
		meaning:
			"The action of a slot was cancelled by the operator, or by a later slot that replaced it.",
		data: { ...SLOT_DOCS, reason: "the reason, as text" },
	},
	"schedule.paused": { meaning: "A schedule was paused.", data: { schedule: "the schedule" } },
	"schedule.resumed": {
		meaning: "A paused schedule was resumed.",
		data: { schedule: "the schedule" },
	},
} as const satisfies Partial<EventDocs>;
