/**
 * The decisions about tasks that the hosts of a cluster share. Pure: from the stored task and the circuit of its agent
 * to what is written. The same core decides as for the tasks of one host; what differs is that a task has a ticket, its
 * place in the queue, so that of several hosts that hold it only one starts its attempt.
 *
 * Times are those of the database. It stands for the steady clock, which hosts do not share.
 */

import {
	admit,
	type BreakerSettings,
	type BreakerState,
	coolDown,
	decideClose,
	recordAttempt,
	recordCancelled,
	refusesForMs,
} from "../../core/breaker.js";
import type { Member } from "../../core/cluster.js";
import type { Outcome } from "../../core/outcome.js";
import { longestTaskMs } from "../../core/retry.js";
import { isEnded } from "../../core/task.js";
import type { Instant } from "../../core/time.js";
import { renderElapsed } from "../../core/units.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type {
	DecideShared,
	SharedState,
	SharedTask,
	SharedWrites,
} from "../../ports/shared-tasks.js";
import type { NewEvent } from "../../ports/store.js";
import type { StoredTask } from "../../ports/task-store.js";
import { beginAttempt, lastErrorOf } from "../tasks/attempt.js";
import { decideEnd } from "../tasks/decide-end.js";
import { stepTask, type TaskStep, taskEventFields, untriedError } from "../tasks/task-state.js";

/** A task whose host was lost this often is a danger to its hosts. */
const TAKEOVERS_MAX = 10;
/** The wait for a circuit that another task probes, and the shortest wait for one that is open. */
const CIRCUIT_POLL_MS = 1_000;
const CIRCUIT_POLL_MS_MAX = 10_000;

/** Starts the next attempt of a task, unless enough of its agent run or its circuit does not admit it. */
export function beginShared(
	member: Member,
	ticket: number,
	runId: string,
	concurrency: number,
): DecideShared {
	return ({ shared, circuit, running, atMs }) => {
		const { task, permit, blockedSinceMs } = shared;
		// The transaction succeeded although its answer was lost.
		if (task.running?.runId === runId) return { shared, events: [] };
		if (shared.ticket !== ticket || !isWaiting(task)) return null;
		// Before the circuit, which may admit only one.
		if (running >= concurrency) return { shared, events: [], waits: true };
		const admission = admit(circuit, at(atMs), permit);
		const changes = circuitChanges(task, circuit, admission);
		if (admission.permit === null) {
			const sinceMs = blockedSinceMs ?? atMs;
			const patienceMs = longestTaskMs(task.retry, task.timeoutMs);
			if (atMs - sinceMs >= patienceMs) {
				const waited = `waited ${renderElapsed(patienceMs)} for the circuit of ${task.agentId}`;
				return withChanges(giveUp(shared, `${waited}, which did not close`, atMs), changes);
			}
			const leftMs = refusesForMs(admission.state, at(atMs)) || CIRCUIT_POLL_MS;
			const afterMs = Math.min(leftMs, CIRCUIT_POLL_MS_MAX);
			const next = { ...shared, blockedSinceMs: sinceMs };
			return withChanges({ ...requeued(next, afterMs), events: [] }, changes);
		}
		const begun = onHost(beginAttempt(task, runId, atMs), member);
		if (!begun.changed) return null;
		const next = { ...shared, task: begun.task, runner: member, permit: admission.permit };
		return withChanges(
			{ shared: { ...next, blockedSinceMs: null }, events: begun.events },
			changes,
		);
	};
}

/** Another host may run it, or this one later. */
export function deferShared(ticket: number, afterMs: number): DecideShared {
	return ({ shared }) =>
		shared.ticket === ticket && isWaiting(shared.task)
			? { ...requeued(shared, afterMs), events: [] }
			: null;
}

/** It cannot be attempted. */
export function giveUpShared(ticket: number, why: string): DecideShared {
	return ({ shared, atMs }) =>
		shared.ticket === ticket && isWaiting(shared.task) ? giveUp(shared, why, atMs) : null;
}

/** Its attempt has ended on this host. A late end changes nothing (T7). */
export function endShared(
	runId: string,
	end: AttemptEnd,
	settings: BreakerSettings,
	random: () => number,
): DecideShared {
	return (state) =>
		state.shared.task.running?.runId === runId ? ended(state, end, settings, random) : null;
}

/** The daemon that ran its attempt is gone. */
export function loseShared(
	runId: string,
	reason: string,
	left: AttemptEnd["outcome"] | undefined,
	settings: BreakerSettings,
	random: () => number,
): DecideShared {
	return (state) => {
		const { shared } = state;
		if (shared.task.running?.runId !== runId) return null;
		const takeovers = shared.takeovers + 1;
		const isLast = takeovers >= TAKEOVERS_MAX;
		const outcome: Outcome = left ?? {
			ok: false,
			error: "internal",
			reason: isLast ? `${reason}; ${takeovers} hosts were lost that ran it` : reason,
			retryAfterMs: null,
		};
		const { task } = shared;
		const retry = isLast ? { ...task.retry, maxAttempts: task.attempts } : task.retry;
		const lost = { ...state, shared: { ...shared, takeovers, task: { ...task, retry } } };
		// An operator who cancelled it meanwhile wants no other attempt.
		const end = { outcome: shared.cancelReason === null ? outcome : null, log: "" };
		return ended(lost, end, settings, random);
	};
}

/** A daemon took it from its queue and is gone, before an attempt. */
export function strandShared(ticket: number): DecideShared {
	return ({ shared, atMs }) => {
		if (shared.ticket !== ticket || !isWaiting(shared.task)) return null;
		const takeovers = shared.takeovers + 1;
		const lost = { ...shared, takeovers };
		if (takeovers >= TAKEOVERS_MAX) {
			return giveUp(lost, `${takeovers} hosts were lost that had taken it`, atMs);
		}
		return { ...requeued(lost, 0), events: [] };
	};
}

/** The operator cancels it: now, or when its attempt has been killed. */
export function cancelShared(reason: string): DecideShared {
	return ({ shared, circuit, atMs }) => {
		const { task, permit } = shared;
		if (isEnded(task.status)) return null;
		if (task.running !== null) {
			return { shared: { ...shared, cancelReason: reason }, events: [] };
		}
		const step = stepTask(task, { type: "cancel" }, atMs, { reason });
		const settled = permit === null ? null : recordCancelled(circuit, permit);
		return withChanges(
			{ shared: { ...shared, task: step.task, permit: null }, events: step.events },
			settled === null ? null : circuitChanges(task, circuit, settled),
		);
	};
}

/** The operator closes the circuit of an agent. */
export function closeSharedCircuit(agentId: string) {
	return (before: BreakerState) => {
		const { state: circuit, reason } = decideClose(before);
		const data = { from: before.circuit, to: circuit.circuit, reason };
		const changed = before.circuit !== circuit.circuit;
		const event: NewEvent = { type: "circuit.changed", agent: agentId, data };
		return { circuit, events: changed ? [event] : [] };
	};
}

/** Closes a dead letter, which another task replays or which the operator discards. */
export function closeLetter(
	end: { readonly type: "replayed"; readonly taskId: string } | { readonly type: "discarded" },
): DecideShared {
	return ({ shared, atMs }) => {
		const { task } = shared;
		if (task.status !== "dead_lettered" || task.letter !== null) return null;
		const event: NewEvent =
			end.type === "replayed"
				? { ...taskEventFields(task), type: "dead_letter.replayed", data: { as: end.taskId } }
				: { ...taskEventFields(task), type: "dead_letter.discarded", data: {} };
		return { shared: { ...shared, task: { ...task, letter: { ...end, atMs } } }, events: [event] };
	};
}

/** The state of a circuit at a time of the database. */
export function circuitAt(circuit: BreakerState, atMs: number): BreakerState {
	return coolDown(circuit, at(atMs));
}

function ended(
	{ shared, circuit, atMs }: SharedState,
	end: AttemptEnd,
	settings: BreakerSettings,
	random: () => number,
): SharedWrites | null {
	const { task, permit, ticket } = shared;
	const { decision, recorded } = decideEnd(task, end, atMs, random);
	if (recorded === null) return null;
	const { outcome } = end;
	const settled =
		permit === null
			? null
			: outcome === null || decision === null
				? recordCancelled(circuit, permit)
				: recordAttempt(circuit, permit, { outcome, decision }, at(atMs), settings);
	const step = onHost(recorded.step, shared.runner);
	const retries = decision?.type === "retry";
	const host = shared.runner?.host;
	const writes: SharedWrites = {
		shared: {
			...shared,
			task: step.task,
			runner: null,
			cancelReason: null,
			permit: retries ? permit : null,
			ticket: retries ? ticket + 1 : ticket,
		},
		attempt: { ...recorded.attempt, ...(host !== undefined && { host }) },
		...(outcome?.ok === true && { result: { value: outcome.result } }),
		events: step.events,
		...(retries && { queueAfterMs: decision.afterMs }),
	};
	return withChanges(writes, settled === null ? null : circuitChanges(task, circuit, settled));
}

const isWaiting = ({ status }: StoredTask) => status === "queued" || status === "retried";

const at = (atMs: number): Instant => ({ steadyMs: atMs, wallMs: atMs });

function requeued(shared: SharedTask, queueAfterMs: number) {
	return { shared: { ...shared, ticket: shared.ticket + 1 }, queueAfterMs };
}

function giveUp(shared: SharedTask, why: string, atMs: number): SharedWrites {
	const { task } = shared;
	const reason = [why, ...lastErrorOf(task)].join("; ");
	const error = untriedError("agent_unavailable", reason);
	const letter = { type: "dead_letter", attempt: null } as const;
	const step = stepTask(task, letter, atMs, { reason, with: { error } });
	return { shared: { ...shared, task: step.task, permit: null }, events: step.events };
}

/** Records the host of an attempt in the task and in its events. */
function onHost(step: TaskStep, runner: Member | null): TaskStep {
	if (runner === null) return step;
	const { host } = runner;
	const events = step.events.map((event) =>
		event.type === "task.changed" ? { ...event, data: { ...event.data, host } } : event,
	);
	return { ...step, task: { ...step.task, host }, events };
}

interface CircuitChanges {
	readonly circuit: BreakerState;
	readonly events: readonly NewEvent[];
}

function circuitChanges(
	{ agentId }: StoredTask,
	before: BreakerState,
	{ state, reason }: { readonly state: BreakerState; readonly reason: string },
): CircuitChanges | null {
	if (state === before) return null;
	const data = { from: before.circuit, to: state.circuit, reason };
	const event: NewEvent = { type: "circuit.changed", agent: agentId, data };
	return { circuit: state, events: before.circuit === state.circuit ? [] : [event] };
}

function withChanges(writes: SharedWrites, changes: CircuitChanges | null): SharedWrites {
	if (changes === null) return writes;
	return { ...writes, circuit: changes.circuit, events: [...changes.events, ...writes.events] };
}
