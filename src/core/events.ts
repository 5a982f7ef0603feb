/**
 * The typed map of events: the spine that log, database, API, page, metrics and notifications all
 * read. One entry per event type, with the data it carries; the reference page is generated from
 * the descriptions, which must name every field.
 */

import type { DrainRung, KnownCause } from "./adapter.js";
import type { CrashAction, ExitClass } from "./crash-state.js";
import type { Asker, ExitCause, ExitKind } from "./exit.js";
import type { AttemptError } from "./outcome.js";
import type { PlanStatus } from "./plan.js";
import type { SignSource } from "./sign.js";
import type { StallStep } from "./stall.js";
import type { Activity, CircuitState, PolicyState } from "./states.js";
import type { TaskStatus } from "./task.js";

/** How the stop of an agent went. */
export type DrainOutcome = "graceful" | "timed_out_killed" | "already_stopped" | "not_proven";

export interface EventMap {
	"agent.added": { fleet_file: string };
	"agent.changed": { keys: readonly string[] };
	"agent.removed": Record<string, never>;
	"agent.started": { pid: number; with_continue: boolean };
	"agent.adopted": { pid: number };
	"agent.conversation": { conversation: string | null; mode: "fresh" | "resume" };
	"agent.conversation_lost": { conversation: string; reason: string };
	"agent.activity": {
		from: Activity;
		to: Activity;
		source: SignSource | null;
		detail: string | null;
	};
	"agent.asks": { detail: string | null };
	"agent.turn_failed": { cause: KnownCause; detail: string | null };
	"agent.dialog_answered": { dialog: string };
	"agent.stalled": { step: StallStep | "notice"; after_ms: number };
	"agent.over_budget": { reason: string; until: string };
	"agent.drain_rung": { rung: DrainRung | "sigkill" };
	"inbox.accepted": { message: string; bytes: number };
	"inbox.delivered": { message: string; confirmed: boolean };
	"inbox.dead": { message: string; reason: string };
	"inbox.discarded": { message: string };
	"agent.limits_missing": { missing: string };
	"agent.ready": { after_ms: number };
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
	"agent.desired": { desired: "up" | "down"; by: Asker };
	"agent.waiting": { reason: string };
	"agent.answered": { answer: "fresh" | "continue" | "stop" };
	"agent.drained": { outcome: DrainOutcome; duration_ms: number };
	"agent.resumed": { from: PolicyState };
	"agent.reported": { message: string };
	"agent.asked": { question: string };
	"agent.replied": { answer: string };
	"account.limited": { account: string; until: string | null; reason: string };
	"account.probing": { account: string };
	"account.released": { account: string; waited_ms: number };
	"circuit.changed": { from: CircuitState; to: CircuitState; reason: string };
	"task.accepted": { action: string; name: string; replay_of: string | null; by: string | null };
	"task.changed": {
		from: TaskStatus;
		to: TaskStatus;
		attempt: number;
		error: AttemptError | null;
		duration_ms: number | null;
		reason: string;
	};
	"plan.accepted": { name: string; tasks: number; by: string | null };
	"plan.changed": { from: PlanStatus; to: PlanStatus; reason: string };
	"dead_letter.replayed": { as: string };
	"dead_letter.discarded": Record<string, never>;
	"notification.failed": { route: string; kind: string; attempts: number; reason: string };
	"operator.acted": {
		route: string;
		target: string | null;
		by: "owner" | "token" | "session";
		who: string;
		error: string | null;
	};
	"operator.refused": { from: string; reason: string; failures: number };
	"daemon.started": { version: string; pid: number };
	"daemon.stopping": { reason: string };
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
	"agent.added": {
		meaning: "A fleet file brought a new agent.",
		data: { fleet_file: "the file it came from" },
	},
	"agent.changed": {
		meaning: "A reload changed an agent.",
		data: { keys: "the keys that changed, never their values" },
	},
	"agent.removed": { meaning: "An agent is no longer in its fleet file.", data: {} },
	"agent.started": {
		meaning: "A run of an agent has begun.",
		data: {
			pid: "its process",
			with_continue: "whether it goes on where it stopped: with its conversation, where it has one",
		},
	},
	"agent.adopted": {
		meaning: "A new daemon found the agent running and took it over. No counter moves.",
		data: { pid: "its process" },
	},
	"agent.conversation": {
		meaning: "A run of an agent begins a conversation, or takes up the one it had.",
		data: {
			conversation: "its id; null until the agent has told it",
			mode: "fresh for a new one, resume for the one it had",
		},
	},
	"agent.conversation_lost": {
		meaning:
			"The agent did not find the conversation that it was to take up. Its next start begins a new one.",
		data: { conversation: "its id", reason: "why, in words" },
	},
	"agent.activity": {
		meaning: "The agent does something else than before, as far as is known.",
		data: {
			from: "activity before",
			to: "activity now",
			source: "how it is known: hook, transcript or screen; null when it is not",
			detail: "in the words of its CLI, where there are some",
		},
	},
	"agent.asks": {
		meaning: "An agent CLI has asked something on its screen for a while, and nobody has answered.",
		data: { detail: "in the words of its CLI, where there are some" },
	},
	"agent.turn_failed": {
		meaning: "A turn of an agent CLI has failed, and the agent lives on.",
		data: {
			cause: "why: auth, config, usage_limit or overloaded",
			detail: "in the words of its CLI, where there are some",
		},
	},
	"agent.dialog_answered": {
		meaning: "A question at the start of an agent CLI was answered, by the label of the choice.",
		data: { dialog: "which, as its adapter calls it" },
	},
	"agent.stalled": {
		meaning: "An agent that says it works has made no progress for long.",
		data: {
			step: "what is done about it: notice, nudge, interrupt or restart",
			after_ms: "how long there was none",
		},
	},
	"agent.over_budget": {
		meaning:
			"An agent has used what it may use in a day: a session is stopped, calls are refused. Told once a day.",
		data: { reason: "how much, in words", until: "when the next day begins" },
	},
	"agent.drain_rung": {
		meaning: "An agent that is to end was asked in one of the ways that its adapter knows.",
		data: { rung: "turn (its turn is waited for), a key, a signal, or sigkill as the last" },
	},
	"inbox.accepted": {
		meaning: "A text for an agent was accepted; it is typed when the agent is ready.",
		data: { message: "its id", bytes: "its length" },
	},
	"inbox.delivered": {
		meaning: "A text was typed into an agent and submitted.",
		data: { message: "its id", confirmed: "whether the agent's CLI has told that it arrived" },
	},
	"inbox.dead": {
		meaning: "A text could not be delivered; it is kept until somebody discards it.",
		data: { message: "its id", reason: "why, in words" },
	},
	"inbox.discarded": {
		meaning: "A text was given up, by the operator or with its agent.",
		data: { message: "its id" },
	},
	"agent.limits_missing": {
		meaning:
			"Limits of the agent are not enforced as asked for, since the host does not permit it. Told once for as long as it is so.",
		data: { missing: "which, why, and what is done instead, in words" },
	},
	"agent.ready": {
		meaning: "The agent is ready; what depends on it may start.",
		data: { after_ms: "how long that took" },
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
	"agent.desired": {
		meaning: "Somebody wants the agent up or down. Remembered across daemon restarts.",
		data: { desired: "up or down", by: "who wants it" },
	},
	"agent.waiting": {
		meaning: "The agent ended by itself and waits for a person to say what comes next.",
		data: { reason: "why, in words" },
	},
	"agent.answered": {
		meaning: "A person said what comes next.",
		data: { answer: "fresh, continue or stop" },
	},
	"agent.drained": {
		meaning: "A stop that was asked for is done.",
		data: {
			outcome: "graceful, timed_out_killed, already_stopped or not_proven",
			duration_ms: "how long it took",
		},
	},
	"agent.resumed": {
		meaning: "The operator let an agent start over.",
		data: { from: "state before" },
	},
	"agent.reported": {
		meaning: "An agent said how it is getting on.",
		data: { message: "in its own words" },
	},
	"agent.asked": {
		meaning: "An agent asked its operator something, and may be waiting for the answer.",
		data: { question: "in its own words" },
	},
	"agent.replied": {
		meaning: "Somebody answered the question of an agent.",
		data: { answer: "in their own words" },
	},
	"account.limited": {
		meaning: "An agent has met the usage limit of its account: all agents of it are parked.",
		data: {
			account: "its name; the agent's own id where it names none",
			until: "when one of them tries again; null when that waits for the operator",
			reason: "why, in words",
		},
	},
	"account.probing": {
		meaning: "A limit should have lifted: this agent goes ahead, the others of the account wait.",
		data: { account: "its name" },
	},
	"account.released": {
		meaning: "A limit has lifted: the other agents of the account follow one after the other.",
		data: { account: "its name", waited_ms: "how long it was limited" },
	},
	"circuit.changed": {
		meaning: "An agent's circuit opened, half opened or closed.",
		data: { from: "state before", to: "state now", reason: "why, in words" },
	},
	"task.accepted": {
		meaning: "A task was taken on; from here on it reaches exactly one end.",
		data: {
			action: "what the agent is to do",
			name: "its name in the plan",
			replay_of: "the dead letter that it replays",
			by: "who asked for it: the user's number, or the token's id",
		},
	},
	"task.changed": {
		meaning: "A task moved on.",
		data: {
			from: "status before",
			to: "status now",
			attempt: "the number of its current attempt",
			error: "how that attempt failed, if it did",
			duration_ms: "how long that attempt took, once it has ended",
			reason: "why, in words",
		},
	},
	"plan.accepted": {
		meaning: "A plan of several tasks was taken on.",
		data: {
			name: "what it is called",
			tasks: "how many there are",
			by: "who asked for it: the user's number, or the token's id",
		},
	},
	"plan.changed": {
		meaning: "A plan moved on.",
		data: { from: "status before", to: "status now", reason: "why, in words" },
	},
	"dead_letter.replayed": {
		meaning: "A dead letter was tried again, as a new task.",
		data: { as: "the new task" },
	},
	"dead_letter.discarded": { meaning: "A dead letter was given up by the operator.", data: {} },
	"notification.failed": {
		meaning: "Somebody could not be told of something, also after several attempts.",
		data: {
			route: "the name of the route in the daemon's settings",
			kind: "what they were to be told of",
			attempts: "how often it was tried",
			reason: "why it failed the last time, in words",
		},
	},
	"operator.acted": {
		meaning: "Somebody had the daemon do something, over its socket or over the network.",
		data: {
			route: "what was asked, as the API calls it",
			target: "the agent, project, task or token that it was about",
			by: "owner for the daemon's socket, token, or session for a browser",
			who: "the user's number, or the token's id; never the token",
			error: "the code of the error that it came to; null when it was done",
		},
	},
	"operator.refused": {
		meaning:
			"Somebody was not let in: told for the first failure from an address in a minute, and when there are too many.",
		data: {
			from: "the address",
			reason: "why, in words",
			failures: "how many there were from there within the minute",
		},
	},
	"daemon.started": {
		meaning: "A daemon has taken over.",
		data: { version: "of the program", pid: "its process" },
	},
	"daemon.stopping": {
		meaning: "The daemon ends; the agents run on.",
		data: { reason: "why, in words" },
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
