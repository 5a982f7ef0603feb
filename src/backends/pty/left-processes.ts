/**
 * Processes of runs whose shim was killed. They are found by their group, session, descent and mark, and by asking the
 * starter, which adopts the children of a dead shim. A child of the starter without a relation to a run may belong to
 * any of the runs that lost their shim; so each of these waits until the starter has none left (S1, S18).
 */

import { setTimeout as sleep } from "node:timers/promises";
import { readProcessTable } from "../../host/process-table.js";
import type { RunTrees } from "../../host/run-trees.js";
import type { KillResult, RunProcess, RunProcesses, RunReference } from "../../ports/backend.js";
import { describeEnded, describeTree } from "./describe-processes.js";
import type { StarterClient } from "./starter-client.js";

const KILL_MS_MAX = 10_000;
/** How long a run waits for the grace periods of the others. */
const OTHERS_MS_MAX = 60_000;
const POLL_MS = 50;

export class LeftProcesses {
	readonly #trees: RunTrees;
	readonly #starter: StarterClient;
	/** Runs that lost their shim and have not ended; true for those whose grace period is over. */
	readonly #lost = new Map<string, boolean>();

	constructor(trees: RunTrees, starter: StarterClient) {
		this.#trees = trees;
		this.#starter = starter;
	}

	add(runId: string): void {
		if (!this.#lost.has(runId)) this.#lost.set(runId, false);
	}

	remove(runId: string): void {
		this.#lost.delete(runId);
	}

	async list(run: RunReference): Promise<RunProcesses> {
		const [own, strangers] = await Promise.all([
			this.#trees.processes(run),
			this.#unclaimed(run.runId),
		]);
		if (!own.ok) return own;
		if (!strangers.ok) return strangers;
		const pids = new Set(own.processes.map(({ pid }) => pid));
		return {
			ok: true,
			processes: [...own.processes, ...strangers.processes.filter(({ pid }) => !pids.has(pid))],
		};
	}

	async kill(run: RunReference): Promise<KillResult> {
		const own = await this.#trees.kill(run);
		if (!own.ok || !this.#lost.has(run.runId)) return own;
		this.#lost.set(run.runId, true);
		const strangers = await this.#killUnclaimed(run.runId);
		return strangers.ok ? { ok: true, killed: [...own.killed, ...strangers.killed] } : strangers;
	}

	/** Processes of the starter without a mark, if they may belong to this run. */
	async #unclaimed(runId: string): Promise<RunProcesses> {
		if (!this.#lost.has(runId)) return { ok: true, processes: [] };
		try {
			const pids = await this.#starter.strangers();
			if (pids.length === 0) return { ok: true, processes: [] };
			const table = readProcessTable();
			const isOfOther = ({ pid }: RunProcess) => {
				const mark = table.runIdOf(pid);
				return mark !== null && mark !== runId;
			};
			const found = await describeTree(pids, this.#starter.pid ?? 0);
			return { ok: true, processes: found.filter((each) => !isOfOther(each)) };
		} catch (error) {
			return { ok: false, reason: `the starter is not reachable: ${(error as Error).message}` };
		}
	}

	/** Not before the grace period of each possible run is over (S12). */
	async #killUnclaimed(runId: string): Promise<KillResult> {
		const deadlineMs = performance.now() + OTHERS_MS_MAX;
		for (;;) {
			const left = await this.#unclaimed(runId);
			if (!left.ok) return left;
			if (left.processes.length === 0) return { ok: true, killed: [] };
			if ([...this.#lost.values()].every(Boolean)) return this.#killStrangers(left.processes);
			if (performance.now() > deadlineMs) {
				const pids = left.processes.map(({ pid }) => pid).join(", ");
				return { ok: false, reason: `pid ${pids} may belong to several runs that lost their shim` };
			}
			await sleep(POLL_MS);
		}
	}

	async #killStrangers(known: readonly RunProcess[]): Promise<KillResult> {
		const { proven, pids } = await this.#starter.killStrangers(KILL_MS_MAX);
		if (proven) return { ok: true, killed: await describeEnded(pids, known) };
		return { ok: false, reason: `still running after ${KILL_MS_MAX} ms: pid ${pids.join(", ")}` };
	}
}
