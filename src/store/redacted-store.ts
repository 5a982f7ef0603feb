/**
 * A store that never receives a secret that an agent printed (A10). All stored data, and so every event, notification
 * and response made from it, passes through `commit`. Free text is redacted; data that Reeve uses later is not: specs,
 * handles, queued messages, and the input and result of a task, which belong to its caller, and what a schedule does.
 */

import { type Redactor, redactDeep } from "../core/redact.js";
import type { Store, StoreTransaction } from "../ports/store.js";

export function redactStore(store: Store, redact: Redactor["redact"]): Store {
	return {
		...store,
		commit: (change, request) =>
			store.commit((inner) => change(redactTransaction(inner, redact)), request),
	};
}

function redactTransaction(inner: StoreTransaction, redact: Redactor["redact"]): StoreTransaction {
	const reasonOf = <T extends { readonly reason: string }>(row: T): T => ({
		...row,
		reason: redact(row.reason),
	});
	return {
		putAgent: (agent) => inner.putAgent(reasonOf(agent)),
		removeAgent: (id) => inner.removeAgent(id),
		// The reason why Reeve ends it may quote a health check or the screen.
		putRun: ({ failing, ...run }) =>
			inner.putRun({ ...run, ...(failing && { failing: redactDeep(failing, redact) }) }),
		putExit: (exit) => inner.putExit(reasonOf(exit)),
		putEffect: (effect) =>
			inner.putEffect(
				effect.type === "notification"
					? { ...effect, payload: redactDeep(effect.payload, redact) }
					: effect,
			),
		removeEffect: (key) => inner.removeEffect(key),
		putCursor: (reader, seq) => inner.putCursor(reader, seq),
		removeCursor: (reader) => inner.removeCursor(reader),
		putMessage: (message) => inner.putMessage(message),
		removeMessage: (id) => inner.removeMessage(id),
		putQuestion: (question) => inner.putQuestion(question),
		removeQuestion: (agentId) => inner.removeQuestion(agentId),
		putAccount: (account) => inner.putAccount(redactDeep(account, redact)),
		putScreenQuestion: (question) => inner.putScreenQuestion(redactDeep(question, redact)),
		removeScreenQuestion: (agentId) => inner.removeScreenQuestion(agentId),
		putFinishedTurn: (turn) => inner.putFinishedTurn(redactDeep(turn, redact)),
		removeFinishedTurn: (agentId) => inner.removeFinishedTurn(agentId),
		putUsage: (usage) => inner.putUsage(usage),
		removeUsage: (agentId) => inner.removeUsage(agentId),
		appendEvent: (event, atMs) =>
			inner.appendEvent({ ...event, data: redactDeep(event.data, redact) } as typeof event, atMs),
		putTask: (task) => inner.putTask({ ...reasonOf(task), error: redactDeep(task.error, redact) }),
		putTaskInput: (id, input) => inner.putTaskInput(id, input),
		putTaskResult: (id, result) => inner.putTaskResult(id, result),
		putAttempt: ({ taskId, runId, ...attempt }) =>
			inner.putAttempt({ taskId, runId, ...redactDeep(attempt, redact) }),
		putPlan: (plan) => inner.putPlan(reasonOf(plan)),
		putSchedule: (schedule) => inner.putSchedule(schedule),
		removeSchedule: (id) => inner.removeSchedule(id),
		putSlot: (slot) => inner.putSlot(reasonOf(slot)),
		putBreaker: (breaker) => inner.putBreaker(breaker),
		onRollback: (undo) => inner.onRollback(undo),
	};
}
