/**
 * The typed map of events: the spine that log, database, API, page, metrics and notifications all
 * read. One entry per event type, with the data it carries; the reference page is generated from
 * the descriptions, which must name every field.
 */

import type { CrashAction, ExitClass } from "./crash-state.js";
import type { ExitCause, ExitKind } from "./exit.js";
import type { PlanStatus } from "./plan.js";
import type { CircuitState, PolicyState } from "./states.js";
import type { TaskStatus } from "./task.js";

export interface EventMap {
	"agent.started": { pid: number | null; with_continue: boolean };
	"agent.exited": {
		code: number | null;
		signal: string | null;
		cause: ExitCause;
		kind: ExitKind;
		class: ExitClass | null;
		uptime_ms: number;
	};
	"agent.decided": {
		policy: PolicyState;
		action: CrashAction["type"];
		after_ms: number | null;
		reason: string;
	};
	"agent.policy_changed": { from: PolicyState; to: PolicyState; reason: string };
	"agent.resumed": { from: PolicyState };
	"circuit.changed": { from: CircuitState; to: CircuitState; reason: string };
	"task.changed": { from: TaskStatus; to: TaskStatus; attempt: number; reason: string };
	"plan.changed": { from: PlanStatus; to: PlanStatus; reason: string };
	"service.ended": { service: string; action: "restart" | "fatal" | "none"; reason: string };
}

export type EventType = keyof EventMap;

/** One event as it is stored and sent. */
export type ReeveEvent = {
	[Type in EventType]: {
		/** Without gap or repeat, from 1 (A3). */
		readonly seq: number;
		/** When, as an ISO 8601 time. */
		readonly at: string;
		readonly type: Type;
		readonly agent?: string;
		readonly task?: string;
		readonly plan?: string;
		readonly run_id?: string;
		readonly correlation_id?: string;
		readonly data: EventMap[Type];
	};
}[EventType];

type EventDocs = {
	readonly [Type in EventType]: {
		readonly meaning: string;
		readonly data: { readonly [Field in keyof EventMap[Type]]: string };
	};
};

export const EVENT_DOCS: EventDocs = {
	"agent.started": {
		meaning: "A run of an agent has begun.",
		data: {
			pid: "its process, where the backend knows it",
			with_continue: "whether it took up its last conversation",
		},
	},
	"agent.exited": {
		meaning: "A run has ended: the facts.",
		data: {
			code: "exit code, null after a signal or when the status was lost",
			signal: "the signal that ended it",
			cause: "why it ended, as far as its adapter or backend understood",
			kind: "what the facts alone make of it",
			class: "what the window of recent exits makes of it: clean, transient or flapping",
			uptime_ms: "how long the run lasted",
		},
	},
	"agent.decided": {
		meaning: "The crash policy's answer to an exit.",
		data: {
			policy: "the policy's state after it",
			action: "what follows",
			after_ms: "how long until then, for a restart or a parked agent",
			reason: "why, in words",
		},
	},
	"agent.policy_changed": {
		meaning: "An agent became healthy, degraded or halted.",
		data: { from: "state before", to: "state now", reason: "why, in words" },
	},
	"agent.resumed": {
		meaning: "The operator let an agent start over.",
		data: { from: "state before" },
	},
	"circuit.changed": {
		meaning: "An agent's circuit opened, half opened or closed.",
		data: { from: "state before", to: "state now", reason: "why, in words" },
	},
	"task.changed": {
		meaning: "A task moved on.",
		data: {
			from: "status before",
			to: "status now",
			attempt: "the number of its current attempt",
			reason: "why, in words",
		},
	},
	"plan.changed": {
		meaning: "A plan moved on.",
		data: { from: "status before", to: "status now", reason: "why, in words" },
	},
	"service.ended": {
		meaning: "A part of the daemon ended although nobody had asked it to.",
		data: {
			service: "its name",
			action: "what the daemon does about it",
			reason: "why, in words",
		},
	},
};
