/** Records for tests of stores. */

import { NEW_AGENT } from "../../core/crash-state.js";
import type { Message } from "../../core/inbox.js";
import { DEFAULT_RETRY } from "../../core/retry.js";
import { NEVER_USED } from "../../core/usage.js";
import type {
	StoredAccount,
	StoredFinishedTurn,
	StoredQuestion,
	StoredScreenQuestion,
	StoredUsage,
} from "../../ports/agent-store.js";
import type { StoredSchedule, StoredSlot } from "../../ports/schedule-store.js";
import type {
	EffectOf,
	NewEvent,
	StoredAgent,
	StoredExit,
	StoredRun,
	StoreTransaction,
} from "../../ports/store.js";
import type { StoredPlan, StoredTask } from "../../ports/task-store.js";

export const agentNamed = (name: string, changes: Partial<StoredAgent> = {}): StoredAgent => ({
	id: `web:${name}`,
	fleetFile: "/srv/reeve.yaml",
	position: 0,
	spec: { command: ["node", "a.mjs"], limits: null },
	desired: "up",
	crash: NEW_AGENT,
	waiting: false,
	reason: "started",
	restarts: 0,
	...changes,
});

export const runNumbered = (number: number, changes: Partial<StoredRun> = {}): StoredRun => ({
	runId: `run-${number}`,
	agentId: "web:a",
	backend: "pty",
	state: "running",
	handle: {
		backend: "pty",
		runId: `run-${number}`,
		process: { bootId: "boot", pid: 100 + number, startTime: "12345" },
		startedAtMs: 1_700_000_000_000.5,
		data: { socket: "/run/x.sock", port: 1 },
	},
	intendedAtMs: 1_700_000_000_000,
	askedBy: null,
	withContinue: false,
	...changes,
});

export const exitOf = (number: number, changes: Partial<StoredExit> = {}): StoredExit => ({
	runId: `run-${number}`,
	agentId: "web:a",
	code: 1,
	signal: null,
	cause: "unknown",
	askedBy: null,
	kind: "failed",
	class: "transient",
	uptimeMs: 12.25,
	atMs: 1_700_000_000_000 + number,
	reason: "exit code 1",
	...changes,
});

export const effectFor = (
	key: string,
	changes: Partial<EffectOf<"start">> = {},
): EffectOf<"start"> => ({
	key,
	type: "start",
	dueAtMs: 1_700_000_000_000,
	payload: { agent: key, afterMs: 0 },
	...changes,
});

/** An event that is identified by its number. */
export const eventWith = (number: number, agent = "web:a"): NewEvent => ({
	type: "agent.started",
	agent,
	data: { pid: number, with_continue: false },
});

/** A queued task, with these changes. */
export function taskNumbered(number: number, more: Partial<StoredTask> = {}): StoredTask {
	return {
		taskId: `task-${number}`,
		planId: `plan-${number}`,
		name: "root",
		alone: true,
		agentId: "web:git",
		action: "push",
		status: "queued",
		attempts: 0,
		retry: DEFAULT_RETRY,
		timeoutMs: 30_000,
		idempotent: true,
		priority: 0,
		dependsOn: [],
		released: true,
		running: null,
		next: null,
		error: null,
		reason: "accepted",
		correlationId: "c",
		idempotencyKey: null,
		fingerprint: null,
		replayOf: null,
		letter: null,
		createdAtMs: number,
		endedAtMs: null,
		...more,
	};
}

/** A running plan, with these changes. */
export const planNumbered = (number: number, changes: Partial<StoredPlan> = {}): StoredPlan => ({
	planId: `plan-${number}`,
	name: "release",
	status: "running",
	onFailure: "continue",
	reason: "accepted",
	correlationId: "c",
	idempotencyKey: null,
	fingerprint: null,
	createdAtMs: number,
	endedAtMs: null,
	...changes,
});

export const messageWith = (id: string, text: string): Message => ({
	id,
	agentId: "web:a",
	text,
	acceptedAtMs: 1,
	phase: "queued",
	attempts: 0,
	enters: 0,
	runId: null,
	atMs: 1,
	typedAtMs: null,
	reason: null,
});

export const QUESTION: StoredQuestion = { agent: "web:a", question: "which one?", askedAtMs: 2 };
export const SCREEN_QUESTION: StoredScreenQuestion = {
	question: {
		id: "q1",
		agent: "web:a",
		runId: "r1",
		kind: "choice",
		source: "screen",
		askedAtMs: 2,
		title: "Proceed?",
		text: "Proceed?",
		detail: null,
		choices: [{ number: 1, label: "Yes", lasting: false }],
	},
	hash: "h1",
	anchor: null,
	answering: null,
};
export const FINISHED_TURN: StoredFinishedTurn = {
	agent: "web:a",
	atMs: 4,
	text: "Done.",
	seen: false,
	isOver: false,
};
export const ACCOUNT: StoredAccount = { account: "team", state: null, freedAtMs: 3 };
export const USAGE: StoredUsage = { agentId: "web:a", usage: NEVER_USED };

export const SCHEDULE: StoredSchedule = {
	id: "web:nightly",
	fleetFile: "/fleet.yaml",
	position: 0,
	spec: { cron: "0 3 * * *" },
	plan: { slotMs: 9, dueAtMs: 10, lastMs: null, era: 0 },
	pausedAtMs: null,
};

export function slotNumbered(number: number, more: Partial<StoredSlot> = {}): StoredSlot {
	return {
		id: `slot-${number}`,
		schedule: SCHEDULE.id,
		slotMs: number,
		manual: false,
		status: "succeeded",
		action: "call",
		reason: "on time",
		decidedAtMs: number,
		endedAtMs: number,
		missed: null,
		started: { type: "task", id: `task-${number}` },
		...more,
	};
}

/** Stores the records above; some of them replace earlier ones, and others are removed again. */
export function putAgentStates(transaction: StoreTransaction): void {
	transaction.putMessage(messageWith("2", "second"));
	transaction.putMessage(messageWith("1", "first"));
	transaction.putMessage(messageWith("2", "NUL \0"));
	transaction.putMessage(messageWith("3", "removed"));
	transaction.removeMessage("3");
	transaction.putQuestion({ ...QUESTION, question: "replaced" });
	transaction.putQuestion(QUESTION);
	transaction.putQuestion({ ...QUESTION, agent: "web:b" });
	transaction.removeQuestion("web:b");
	transaction.putScreenQuestion({ ...SCREEN_QUESTION, hash: "replaced" });
	transaction.putScreenQuestion(SCREEN_QUESTION);
	const { question } = SCREEN_QUESTION;
	transaction.putScreenQuestion({
		...SCREEN_QUESTION,
		question: { ...question, agent: "web:b" },
	});
	transaction.removeScreenQuestion("web:b");
	transaction.putFinishedTurn({ ...FINISHED_TURN, seen: true });
	transaction.putFinishedTurn(FINISHED_TURN);
	transaction.putFinishedTurn({ ...FINISHED_TURN, agent: "web:b" });
	transaction.removeFinishedTurn("web:b");
	transaction.putAccount({ ...ACCOUNT, freedAtMs: 1 });
	transaction.putAccount(ACCOUNT);
	transaction.putUsage(USAGE);
	transaction.putUsage({ ...USAGE, agentId: "web:b" });
	transaction.removeUsage("web:b");
	transaction.putCursor("reader", 7);
	transaction.putCursor("reader", 8);
	transaction.putCursor("removed", 9);
	transaction.removeCursor("removed");
}
