/** One attempt at a request: uses a worker of the pool, or runs one process for it. */

import { classifyProcessFailure, judgeDeadline } from "../../core/outcome.js";
import type { AttemptEnd, CallAdapter, Executor } from "../../ports/executor.js";
import type { UsageBook } from "../limits/usage-book.js";
import { type LifeWorld, NO_CONVERSATION } from "../runs/life-world.js";
import type { WorkerLife } from "../runs/worker-life.js";
import type { AttemptOrder, CallableSpec } from "./calls-world.js";

export interface PerformWorld {
	readonly executor: Executor;
	readonly prepare: LifeWorld["prepare"];
	/** How to call an agent CLI that does not speak the protocol itself; null for one that does. */
	readonly adapterFor: (spec: CallableSpec) => CallAdapter | null;
}

/** Never rejects. */
export async function performAttempt(
	world: PerformWorld,
	worker: WorkerLife | null,
	order: AttemptOrder,
	signal: AbortSignal,
): Promise<AttemptEnd> {
	const end = await runAttempt(world, worker, order, signal);
	if (end.outcome === null) return end;
	const deadline = { timeoutMs: order.timeoutMs, agentTimeoutMs: order.spec.timeoutMs };
	return { ...end, outcome: judgeDeadline(end.outcome, deadline) };
}

async function runAttempt(
	{ prepare, executor, adapterFor }: PerformWorld,
	worker: WorkerLife | null,
	{ spec, runId, request, timeoutMs }: AttemptOrder,
	signal: AbortSignal,
): Promise<AttemptEnd> {
	if (worker !== null) return worker.ask(request, timeoutMs, signal);
	const prepared = await prepare(spec, NO_CONVERSATION);
	if (!prepared.ok) {
		const outcome = classifyProcessFailure({ type: "spawn_error", detail: prepared.detail });
		return { outcome, log: "" };
	}
	const program = { ...prepared.request, extraOutput: spec.extraOutput };
	return executor.call({ runId, program, adapter: adapterFor(spec), request, timeoutMs }, signal);
}

/** Counts the usage of an attempt before its result is reported. */
export async function countCall(
	usage: UsageBook,
	{ onError }: Pick<LifeWorld, "onError">,
	spec: CallableSpec,
	{ used }: AttemptEnd,
): Promise<void> {
	if (spec.kind !== "call" || used === undefined) return;
	// The response must not be lost because it could not be counted.
	await usage.addCall(spec, used).catch((error: unknown) => onError(spec.id, error));
}
