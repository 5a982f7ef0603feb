/**
 * Keeps shared tasks moving: ends what earlier daemons of this home left behind, kills attempts that were cancelled or
 * that another host has taken over, and, on one host at a time, takes over the work of hosts that are lost.
 *
 * After the database was away, every host seems lost for a moment. So a host takes nothing over before it has been a
 * member for longer than any live host needs to send a heartbeat again.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_BREAKER } from "../../core/breaker.js";
import { SILENT_AFTER_MS } from "../../core/cluster.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { SharedTask, SharedTasksDatabase, Stranded } from "../../ports/shared-tasks.js";
import { interruptedWith } from "../tasks/attempt.js";
import { callable } from "../tasks/tasks-world.js";
import { loseShared, strandShared } from "./decide-shared.js";
import type { AttemptsWorld, Joined, SharedAttempts } from "./shared-attempts.js";

const LOOK_MS = 1_000;
const SWEEP_MS = 5_000;
const SWEEP_AFTER_MS = SILENT_AFTER_MS + SWEEP_MS;
/** An entry of this daemon that it does not know may be on its way from the queue. */
const UNKNOWN_MS_MAX = 10_000;
const PRUNE_MS = 60_000;
/** How long tasks that have ended can be read. */
const KEPT_MS = 7 * 86_400_000;
/** Entries that have left their queues only help to understand a fault. */
const ENTRIES_KEPT_MS = 600_000;
const PRUNING_MS_MAX = 5_000;

export class Upkeep {
	readonly #world: AttemptsWorld;
	readonly #attempts: SharedAttempts;
	/** Since when entries of this daemon are unknown to it. */
	readonly #unknown = new Map<string, number>();

	constructor(world: AttemptsWorld, attempts: SharedAttempts) {
		this.#world = world;
		this.#attempts = attempts;
	}

	/** Until the signal aborts. */
	async run(joined: Joined, signal: AbortSignal): Promise<void> {
		const sinceMs = performance.now();
		let [sweepAtMs, pruneAtMs] = [sinceMs + SWEEP_AFTER_MS, sinceMs + PRUNE_MS];
		await this.#attend(() => this.#endOwn(joined));
		while (!signal.aborted) {
			await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
			if (signal.aborted) return;
			await this.#attend(() => this.#killUnwanted(joined));
			const nowMs = performance.now();
			if (nowMs < sweepAtMs) continue;
			sweepAtMs = nowMs + SWEEP_MS * (0.8 + 0.4 * Math.random());
			await this.#attend(() => this.#retakeUnknown(joined));
			const prunes = nowMs >= pruneAtMs;
			if (prunes) pruneAtMs = nowMs + PRUNE_MS;
			await this.#attend(() =>
				joined.database.exclusively(async () => {
					await this.#takeOver(joined);
					if (prunes) await prune(joined);
				}),
			);
		}
	}

	async #attend(work: () => Promise<unknown>): Promise<void> {
		try {
			await work();
		} catch (error) {
			this.#world.log.failed("shared tasks", error);
		}
	}

	/** Attempts of earlier daemons of this home, whose processes are killed first (T6). */
	async #endOwn({ member, database }: Joined): Promise<void> {
		const running = await database.runningOf(member.home);
		const left = running.filter(({ runner }) => runner?.boot !== member.boot);
		if (left.length === 0) return;
		const runIds = left.map(({ task }) => task.running?.runId ?? "");
		const alive = await this.#world.executor.endLeft(runIds);
		for (const each of alive) this.#world.log.attemptLeft(each);
		const whyAlive = new Map(alive.map(({ runId, reason }) => [runId, reason]));
		for (const shared of left) {
			const runId = shared.task.running?.runId ?? "";
			await this.#lose({ member, database }, shared, interruptedWith(whyAlive.get(runId)));
		}
	}

	/** Those that the operator has cancelled, and those that other hosts have taken over. */
	async #killUnwanted({ member, database }: Joined): Promise<void> {
		const mine = this.#attempts.running();
		if (mine.length === 0) return;
		const stored = new Map(
			(await database.runningOf(member.home)).map((shared) => [shared.task.taskId, shared]),
		);
		for (const { taskId, runId } of mine) {
			const shared = stored.get(taskId);
			const isMine = shared?.task.running?.runId === runId;
			if (!isMine || shared.cancelReason !== null) this.#attempts.abort(taskId, runId);
		}
	}

	/** Entries that this daemon took from a queue, and lost before it worked on them. */
	async #retakeUnknown({ member, database }: Joined): Promise<void> {
		const nowMs = performance.now();
		const taken = await database.takenBy(member.boot);
		const unknown = taken.filter(({ taskId, ticket }) => !this.#attempts.has(taskId, ticket));
		const keys = new Set(unknown.map(keyOf));
		for (const key of this.#unknown.keys()) if (!keys.has(key)) this.#unknown.delete(key);
		const lost: Stranded[] = [];
		for (const entry of unknown) {
			const sinceMs = this.#unknown.get(keyOf(entry)) ?? nowMs;
			this.#unknown.set(keyOf(entry), sinceMs);
			if (nowMs - sinceMs >= UNKNOWN_MS_MAX) lost.push(entry);
		}
		await this.#requeue({ member, database }, lost);
	}

	async #takeOver(joined: Joined): Promise<void> {
		const { database } = joined;
		for (const shared of await database.lost()) await this.#lose(joined, shared, null);
		await this.#requeue(joined, await database.stranded());
	}

	async #requeue({ member, database }: Joined, entries: readonly Stranded[]): Promise<void> {
		for (const { taskId, ticket } of entries) {
			const writes = await database.change(member, taskId, strandShared(ticket));
			if (writes !== null) this.#world.changed(writes);
		}
		await database.discard(entries);
	}

	async #lose(
		{
			member,
			database,
		}: { readonly member: Joined["member"]; readonly database: SharedTasksDatabase },
		{ task, runner }: SharedTask,
		left: AttemptEnd | null,
	): Promise<void> {
		const { runId = "" } = task.running ?? {};
		const spec = callable(this.#world.agents.specOf(task.agentId));
		const reason = `host ${runner?.host} was lost during the attempt`;
		const decide = loseShared(
			...([runId, reason, left?.outcome ?? undefined] as const),
			spec?.circuitBreaker ?? DEFAULT_BREAKER,
			this.#world.random,
		);
		const writes = await database.change(member, task.taskId, decide);
		if (writes !== null) this.#world.changed(writes);
	}
}

/** As much as there is to remove, for a while. */
async function prune({ database }: Joined): Promise<void> {
	const untilMs = performance.now() + PRUNING_MS_MAX;
	const nowMs = Date.now();
	while ((await database.prune(nowMs - KEPT_MS, nowMs - ENTRIES_KEPT_MS)) > 0) {
		if (performance.now() > untilMs) return;
	}
}

const keyOf = ({ taskId, ticket }: Stranded) => `${taskId}.${ticket}`;
