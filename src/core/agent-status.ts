/**
 * The one state of an agent that people see, from all of its facts. The rows of the table are checked in
 * order and the first that fits wins, so API, page, `reeve top` and notifications never disagree.
 */

import type { TurnCause } from "./adapter.js";
import { needsFix } from "./attention.js";
import type { ExitCause } from "./exit.js";
import type { QuestionKind } from "./question.js";
import type { SignSource } from "./sign.js";
import type { Activity, AgentKind, CircuitState, PolicyState, ProcessState } from "./states.js";

export const AGENT_STATUS_STATES = [
	"login_lost",
	"halted",
	"asks_permission",
	"asks_you",
	"ended",
	"over_budget",
	"stopping",
	"limited",
	"restarting",
	"hibernated",
	"completed",
	"stopped",
	"waits_for_dependency",
	"starting",
	"stalled",
	"circuit_open",
	"dead_letters",
	"degraded",
	"working",
	"finished",
	"ready",
	"running",
	"unknown",
] as const;
/** Every state of an agent, in the order in which they are checked. */
export type AgentStatusState = (typeof AGENT_STATUS_STATES)[number];

/** Everything that decides the state of an agent. Times are wall time. */
export interface StatusFacts {
	readonly kind: AgentKind;
	readonly desired: "up" | "down";
	readonly process: ProcessState;
	readonly policy: PolicyState;
	readonly activity: Activity;
	/** Null if the activity is unknown. */
	readonly activitySource: SignSource | null;
	readonly activityAtMs: number | null;
	readonly activityDetail: string | null;
	/** Whether its CLI can be observed: a program without a status source just runs. */
	readonly isAttended: boolean;
	readonly turnFailure: TurnCause | null;
	readonly lastExit: { readonly cause: ExitCause; readonly atMs: number } | null;
	/** It has finished its work and stays down. */
	readonly hasCompleted: boolean;
	/** It exited cleanly and waits for the operator's decision. */
	readonly waiting: boolean;
	readonly question: {
		readonly kind: QuestionKind;
		readonly text: string;
		readonly askedAtMs: number;
		readonly source: SignSource | null;
	} | null;
	/** Set while its budget is used up: when it may continue. */
	readonly budgetUntilMs: number | null;
	/** The usage limit that holds it; null if there is none. */
	readonly hold: { readonly untilMs: number | null } | null;
	readonly nextStartAtMs: number | null;
	/** The agents that it waits for. */
	readonly missing: readonly string[];
	/** It may not run on this host now: another one has its lease, or none has it yet. */
	readonly isAway: boolean;
	readonly startedAtMs: number | null;
	/** Since when it has been busy without progress; null if it is not stalled. */
	readonly stalledSinceMs: number | null;
	/** When it was stopped because it was idle; null if it was not. */
	readonly hibernatedSinceMs: number | null;
	/** Since when its health check fails too often; null if it does not. */
	readonly unhealthySinceMs: number | null;
	readonly circuit: CircuitState;
	readonly circuitOpenUntilMs: number | null;
	readonly lastFailureAtMs: number | null;
	readonly deadLetters: { readonly count: number; readonly sinceMs: number | null };
	readonly callsRunning: number;
	readonly finished: {
		readonly atMs: number;
		readonly text: string | null;
		readonly seen: boolean;
	} | null;
	/** Messages that could not be delivered. */
	readonly undelivered: number;
	/** The reason for its state, as text. */
	readonly reason: string;
}

export interface AgentStatus {
	readonly state: AgentStatusState;
	/** Whether it waits for a person, or will not recover without one. */
	readonly needsYou: boolean;
	/** Since when; null if unknown. */
	readonly sinceMs: number | null;
	/** When it ends by itself; null if unknown. */
	readonly untilMs: number | null;
	readonly why: string;
	/** How it is known, for states that come from the agent's CLI. */
	readonly source: SignSource | null;
}

interface Row {
	readonly when: (facts: StatusFacts) => boolean;
	readonly needsYou?: true;
	readonly since?: (facts: StatusFacts) => number | null;
	readonly until?: (facts: StatusFacts) => number | null;
	/** The agent's own reason if omitted. */
	readonly why?: (facts: StatusFacts) => string;
	/** Whether its CLI reported it. */
	readonly isReported?: true;
}

const isUp = ({ desired }: StatusFacts) => desired === "up";
const isRunning = ({ process }: StatusFacts) => process === "running";
const exitAt = ({ lastExit }: StatusFacts) => lastExit?.atMs ?? null;
const activityAt = ({ activityAtMs }: StatusFacts) => activityAtMs;
const startedAt = ({ startedAtMs }: StatusFacts) => startedAtMs;
/** A question that cannot be read has no time and no text of its own. */
const askedAt = (facts: StatusFacts) => facts.question?.askedAtMs ?? activityAt(facts);
const askedText = ({ question, activityDetail }: StatusFacts) =>
	question?.text ?? activityDetail ?? "It shows a question on its screen.";
const isWaitingInput = (facts: StatusFacts) =>
	isRunning(facts) && facts.activity === "waiting_input";
/** Questions that are neither permissions nor about an exit. */
const ASKING_KINDS: readonly QuestionKind[] = ["choice", "text", "lost_host"];
/** Calls need no running process. */
const isOnCall = ({ kind }: StatusFacts) => kind === "call";

/** The rows in order, `unknown` last: it fits everything else. */
export const STATUS_ROWS: Readonly<Record<AgentStatusState, Row>> = {
	login_lost: {
		when: (facts) =>
			(facts.policy === "halted" && facts.lastExit?.cause === "auth") ||
			(isRunning(facts) && facts.turnFailure === "auth"),
		needsYou: true,
		since: (facts) => (facts.policy === "halted" ? exitAt(facts) : activityAt(facts)),
	},
	halted: { when: ({ policy }) => policy === "halted", needsYou: true, since: exitAt },
	asks_permission: {
		when: ({ question }) => question?.kind === "permission",
		needsYou: true,
		since: askedAt,
		why: askedText,
		isReported: true,
	},
	asks_you: {
		when: (facts) =>
			ASKING_KINDS.some((kind) => kind === facts.question?.kind) || isWaitingInput(facts),
		needsYou: true,
		since: askedAt,
		why: askedText,
		isReported: true,
	},
	ended: { when: ({ waiting }) => waiting, needsYou: true, since: exitAt },
	over_budget: {
		when: (facts) => isUp(facts) && facts.budgetUntilMs !== null,
		needsYou: true,
		until: ({ budgetUntilMs }) => budgetUntilMs,
	},
	stopping: { when: ({ process }) => process === "stopping" },
	limited: {
		when: (facts) =>
			(isUp(facts) && facts.hold !== null) ||
			(isRunning(facts) && facts.activity === "rate_limited"),
		since: activityAt,
		until: ({ hold, nextStartAtMs }) => hold?.untilMs ?? nextStartAtMs,
	},
	restarting: {
		when: (facts) => facts.process === "stopped" && facts.nextStartAtMs !== null,
		since: exitAt,
		until: ({ nextStartAtMs }) => nextStartAtMs,
	},
	hibernated: {
		when: (facts) => isUp(facts) && facts.process === "stopped" && facts.hibernatedSinceMs !== null,
		since: ({ hibernatedSinceMs }) => hibernatedSinceMs,
	},
	completed: { when: ({ hasCompleted }) => hasCompleted, since: exitAt },
	stopped: {
		when: (facts) => !isUp(facts) && (facts.process === "stopped" || isOnCall(facts)),
		since: exitAt,
	},
	waits_for_dependency: {
		when: ({ missing, isAway }) => missing.length > 0 || isAway,
	},
	starting: {
		when: ({ process, activity }) =>
			process === "starting" || (process === "running" && activity === "starting"),
		since: startedAt,
	},
	stalled: {
		when: (facts) => isRunning(facts) && facts.stalledSinceMs !== null,
		needsYou: true,
		since: ({ stalledSinceMs }) => stalledSinceMs,
		why: () => "Busy without progress.",
	},
	circuit_open: {
		when: ({ circuit }) => circuit === "open",
		needsYou: true,
		since: ({ lastFailureAtMs }) => lastFailureAtMs,
		until: ({ circuitOpenUntilMs }) => circuitOpenUntilMs,
	},
	dead_letters: {
		when: ({ deadLetters }) => deadLetters.count > 0,
		needsYou: true,
		since: ({ deadLetters }) => deadLetters.sinceMs,
		why: ({ deadLetters: { count } }) =>
			count === 1 ? "A task failed permanently." : `${count} tasks failed permanently.`,
	},
	degraded: {
		when: (facts) =>
			(facts.policy === "degraded" && isRunning(facts)) ||
			(isRunning(facts) && (needsFix(facts.turnFailure) || facts.unhealthySinceMs !== null)) ||
			facts.circuit === "half_open",
		since: (facts) => facts.unhealthySinceMs ?? startedAt(facts),
	},
	working: {
		when: (facts) => (isRunning(facts) && facts.activity === "busy") || facts.callsRunning > 0,
		since: (facts) => (facts.activity === "busy" ? activityAt(facts) : null),
		why: ({ activity, activityDetail, callsRunning }) => {
			if (activity === "busy") return activityDetail ?? "";
			return callsRunning === 1 ? "1 call running" : `${callsRunning} calls running`;
		},
		isReported: true,
	},
	finished: {
		when: (facts) =>
			isRunning(facts) && facts.activity === "ready" && facts.finished?.seen === false,
		since: ({ finished }) => finished?.atMs ?? null,
		why: ({ finished }) => finished?.text ?? "It completed its turn and waits.",
		isReported: true,
	},
	ready: {
		when: (facts) =>
			(isRunning(facts) && facts.activity === "ready") || (isUp(facts) && isOnCall(facts)),
		since: (facts) => (isOnCall(facts) ? null : activityAt(facts)),
		why: (facts) => (isOnCall(facts) ? facts.reason : "Waits for a message."),
		isReported: true,
	},
	running: {
		when: (facts) => isRunning(facts) && !facts.isAttended,
		since: startedAt,
	},
	unknown: { when: () => true, since: startedAt },
};

/** A reason without the times and commands that a view shows as a countdown and as keys or buttons. */
export function shortReason(why: string): string {
	return why
		.replace(/^restarting at [^;]*; /, "")
		.replace(/; (continues at|calls are refused until|fix the cause, then run) .*$/, "")
		.replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/, "");
}

/** Whether a reason only repeats the word of its state. */
export function repeatsState(state: AgentStatusState, why: string): boolean {
	return why.toLowerCase() === STATUS_STYLES[state].word.toLowerCase();
}

export function decideStatus(facts: StatusFacts): AgentStatus {
	const state = AGENT_STATUS_STATES.find((each) => STATUS_ROWS[each].when(facts)) ?? "unknown";
	const row = STATUS_ROWS[state];
	const asks = state === "asks_permission" || state === "asks_you";
	const source = asks && facts.question ? facts.question.source : facts.activitySource;
	return {
		state,
		needsYou:
			row.needsYou === true ||
			facts.undelivered > 0 ||
			(isRunning(facts) && needsFix(facts.turnFailure)),
		sinceMs: row.since?.(facts) ?? null,
		untilMs: row.until?.(facts) ?? null,
		why: row.why?.(facts) ?? facts.reason,
		source: row.isReported ? source : null,
	};
}

/** States by urgency: questions, then failures, then finished turns, then waits, then work. */
export const ATTENTION_ORDER: readonly AgentStatusState[] = [
	...(["asks_permission", "asks_you", "ended", "login_lost", "halted", "over_budget"] as const),
	...(["circuit_open", "stalled", "dead_letters", "finished", "degraded", "restarting"] as const),
	...(["limited", "waits_for_dependency", "starting", "stopping", "working", "ready"] as const),
	...(["running", "unknown", "hibernated", "completed", "stopped"] as const),
];

export type StatusTone = "red" | "amber" | "blue" | "green" | "grey";

/** How a state is shown: one word, one shape, one colour, always together. */
export interface StatusStyle {
	readonly word: string;
	readonly shape:
		| "octagon_keyhole"
		| "octagon_bar"
		| "octagon_cross"
		| "diamond"
		| "triangle"
		| "ring_square"
		| "clock"
		| "arrow"
		| "moon"
		| "square_check"
		| "square"
		| "dots"
		| "half"
		| "disc"
		| "disc_check"
		| "ring"
		| "dashed_ring";
	readonly tone: StatusTone;
}

export const STATUS_STYLES: Readonly<Record<AgentStatusState, StatusStyle>> = {
	login_lost: { word: "Login lost", shape: "octagon_keyhole", tone: "red" },
	halted: { word: "Halted", shape: "octagon_bar", tone: "red" },
	asks_permission: { word: "Asks permission", shape: "diamond", tone: "amber" },
	asks_you: { word: "Asks you", shape: "diamond", tone: "amber" },
	ended: { word: "Exited, needs a decision", shape: "diamond", tone: "amber" },
	over_budget: { word: "Over budget", shape: "triangle", tone: "amber" },
	stopping: { word: "Stopping", shape: "ring_square", tone: "grey" },
	limited: { word: "Limited", shape: "clock", tone: "blue" },
	restarting: { word: "Restarts", shape: "arrow", tone: "blue" },
	hibernated: { word: "Hibernated", shape: "moon", tone: "grey" },
	completed: { word: "Completed", shape: "square_check", tone: "grey" },
	stopped: { word: "Stopped", shape: "square", tone: "grey" },
	waits_for_dependency: { word: "Waits", shape: "dots", tone: "blue" },
	starting: { word: "Starting", shape: "half", tone: "green" },
	stalled: { word: "Stalled", shape: "triangle", tone: "amber" },
	circuit_open: { word: "Circuit open", shape: "triangle", tone: "amber" },
	dead_letters: { word: "Dead letters", shape: "octagon_cross", tone: "red" },
	degraded: { word: "Degraded", shape: "triangle", tone: "amber" },
	working: { word: "Working", shape: "disc", tone: "green" },
	finished: { word: "Finished", shape: "disc_check", tone: "green" },
	ready: { word: "Ready", shape: "ring", tone: "green" },
	running: { word: "Running", shape: "ring", tone: "green" },
	unknown: { word: "Not known", shape: "dashed_ring", tone: "grey" },
};
