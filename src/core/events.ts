/**
 * The typed map of events, shared by log, database, API, page, metrics and notifications. One entry per
 * event type, with its data; `event-docs` describes each.
 */

import type { DrainStep, TurnCause } from "./adapter.js";
import type { CrashAction, ExitClass } from "./crash-state.js";
import type { Asker, ExitCause, ExitKind } from "./exit.js";
import type { HealthAction } from "./health.js";
import type { WakeCause } from "./hibernation.js";
import type { AttemptError, CallerCode } from "./outcome.js";
import type { PlanStatus } from "./plan.js";
import type { QuestionKind } from "./question.js";
import type { ScheduleActionType } from "./schedule.js";
import type { SignSource } from "./sign.js";
import type { StallStep } from "./stall.js";
import type { Activity, CircuitState, PolicyState } from "./states.js";
import type { TaskStatus } from "./task.js";

/** The result of stopping an agent. */
export type DrainOutcome = "graceful" | "timed_out_killed" | "already_stopped" | "not_proven";

/** A process of an agent, as named in reports. */
export interface EndedProcess {
	readonly pid: number;
	readonly name: string;
}

/** The data of each type of event. */
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
	"agent.asks": {
		detail: string | null;
		question: string | null;
		kind: QuestionKind | null;
		text: string | null;
		choices: readonly string[];
	};
	"agent.question_asked": {
		question: string;
		kind: QuestionKind;
		title: string;
		text: string;
		choices: readonly string[];
	};
	"agent.question_answered": {
		question: string;
		choice: number | null;
		answer: string;
		by: "owner" | "token" | "session";
		who: string;
		confirmed: boolean;
	};
	"agent.question_gone": { question: string };
	"agent.turn_finished": { text: string | null };
	"agent.seen": Record<string, never>;
	"agent.turn_failed": { cause: TurnCause; detail: string | null; retry_in_ms: number | null };
	"agent.retrying": {
		cause: TurnCause;
		detail: string | null;
		attempts: number;
		for_ms: number;
	};
	"agent.dialog_answered": { dialog: string };
	"agent.stalled": { step: StallStep | "notice"; after_ms: number };
	"agent.budget_low": { reason: string; until: string };
	"agent.over_budget": { reason: string; until: string };
	"agent.drain_step": { step: DrainStep | "sigkill" };
	"inbox.accepted": { message: string; bytes: number };
	"inbox.delivered": { message: string; confirmed: boolean };
	"inbox.dead": { message: string; reason: string };
	"inbox.discarded": { message: string };
	"agent.limits_missing": { missing: string };
	"agent.terminal_reopened": Record<string, never>;
	"agent.ready": { after_ms: number };
	"agent.start_timeout": { after_ms: number; screen: readonly string[] };
	"agent.hibernated": { idle_ms: number; freed_bytes: number | null };
	"agent.woken": { by: WakeCause; asleep_ms: number };
	"agent.unhealthy": { error: string; failures: number; action: HealthAction };
	"agent.recovered": { unhealthy_ms: number };
	"agent.files_changed": { files: readonly string[]; more: boolean };
	"agent.watch_loop": { restarts: number; within_ms: number; files: readonly string[] };
	"agent.watch_incomplete": { reason: string };
	"agent.lease_acquired": { host: string; epoch: number; reason: string };
	"agent.lease_lost": { host: string; epoch: number; reason: string };
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
	"agent.completed": { code: number | null; duration_ms: number };
	"agent.answered": { answer: "fresh" | "continue" | "stop" };
	"agent.drained": {
		outcome: DrainOutcome;
		duration_ms: number;
		killed?: readonly EndedProcess[];
		reason?: string;
	};
	"agent.leftovers": {
		processes: readonly EndedProcess[];
		killed: readonly EndedProcess[];
		duration_ms: number;
	};
	"agent.leftovers_stuck": { reason: string };
	"agent.resumed": { from: PolicyState };
	"agent.reported": { message: string };
	"agent.asked": { question: string };
	"agent.replied": { answer: string };
	"account.limited": { account: string; until: string | null; reason: string; host?: string };
	"account.probing": { account: string };
	"account.released": { account: string; waited_ms: number };
	"circuit.changed": { from: CircuitState; to: CircuitState; reason: string };
	"task.accepted": {
		action: string;
		name: string;
		replay_of: string | null;
		by: string | null;
		host?: string;
	};
	"task.changed": {
		from: TaskStatus;
		to: TaskStatus;
		attempt: number;
		error: AttemptError | null;
		code: CallerCode | null;
		duration_ms: number | null;
		reason: string;
		host?: string;
	};
	"plan.accepted": { name: string; tasks: number; by: string | null };
	"plan.changed": { from: PlanStatus; to: PlanStatus; reason: string };
	"dead_letter.replayed": { as: string };
	"dead_letter.discarded": Record<string, never>;
	"schedule.added": { schedule: string; fleet_file: string };
	"schedule.changed": { schedule: string };
	"schedule.removed": { schedule: string };
	"schedule.fired": {
		schedule: string;
		slot: string;
		slot_at: string;
		action: ScheduleActionType;
		started: string | null;
		reason: string;
	};
	"schedule.queued": { schedule: string; slot: string; slot_at: string; reason: string };
	"schedule.skipped": {
		schedule: string;
		slot: string;
		slot_at: string;
		count: number;
		reason: string;
	};
	"schedule.succeeded": { schedule: string; slot: string; slot_at: string; reason: string };
	"schedule.failed": { schedule: string; slot: string; slot_at: string; reason: string };
	"schedule.cancelled": { schedule: string; slot: string; slot_at: string; reason: string };
	"schedule.paused": { schedule: string };
	"schedule.resumed": { schedule: string };
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
	"daemon.file_damaged": { file: string; problem: string; action: string; kept_as: string | null };
	"remote.connected": { remote: string; version: string; down_ms: number | null };
	"remote.lost": { remote: string; reason: string };
	"cluster.joined": { host: string; down_ms: number | null };
	"cluster.lost": { host: string; reason: string };
	"cluster.refused": { host: string; reason: string };
	"service.ended": { service: string; action: "restart" | "fatal" | "none"; reason: string };
}

/** The type of an event, such as `agent.exited`. */
export type EventType = keyof EventMap;

/** A description of every event and of each field of its data. */
export type EventDocs = {
	readonly [Type in EventType]: {
		readonly meaning: string;
		readonly data: { readonly [Field in keyof EventMap[Type]]: string };
	};
};

/** One event as it is stored and sent. */
export type ReeveEvent = {
	[Type in EventType]: {
		/** The sequence number, from 1, without gaps or duplicates (A3). */
		readonly seq: number;
		/** The time, as ISO 8601. */
		readonly at: string;
		readonly type: Type;
		readonly agent?: string;
		readonly task?: string;
		readonly plan?: string;
		readonly run_id?: string;
		readonly correlation_id?: string;
		/** The remote that it comes from; only set by a client of several hosts. */
		readonly host?: string;
		readonly data: EventMap[Type];
	};
}[EventType];
