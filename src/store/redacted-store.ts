/**
 * A store that never receives a secret that an agent printed (A10). All stored data, and so every
 * event, notification and response made from it, passes through `commit`. Free text is redacted; data
 * that Reeve uses later is not: specs, handles, queued messages, and the input and result of a task,
 * which belong to its caller.
 */

import { type Redactor, redactDeep } from "../core/redact.js";
import type { PendingEffect, Store, StoreTransaction } from "../ports/store.js";

/** Effects whose payload contains text from an agent. Others are used as data later. */
const TEXT_EFFECTS: ReadonlySet<string> = new Set(["notification", "account"]);

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
	const effectOf = (effect: PendingEffect): PendingEffect =>
		TEXT_EFFECTS.has(effect.type)
			? { ...effect, payload: redactDeep(effect.payload, redact) }
			: effect;
	return {
		putAgent: (agent) => inner.putAgent(reasonOf(agent)),
		removeAgent: (id) => inner.removeAgent(id),
		putRun: (run) => inner.putRun(run),
		putExit: (exit) => inner.putExit(reasonOf(exit)),
		putEffect: (effect) => inner.putEffect(effectOf(effect)),
		removeEffect: (key) => inner.removeEffect(key),
		appendEvent: (event, atMs) =>
			inner.appendEvent({ ...event, data: redactDeep(event.data, redact) } as typeof event, atMs),
		putTask: (task) => inner.putTask({ ...reasonOf(task), error: redactDeep(task.error, redact) }),
		putTaskInput: (id, input) => inner.putTaskInput(id, input),
		putTaskResult: (id, result) => inner.putTaskResult(id, result),
		putAttempt: ({ taskId, runId, ...attempt }) =>
			inner.putAttempt({ taskId, runId, ...redactDeep(attempt, redact) }),
		putPlan: (plan) => inner.putPlan(reasonOf(plan)),
		putBreaker: (breaker) => inner.putBreaker(breaker),
		onRollback: (undo) => inner.onRollback(undo),
	};
}
