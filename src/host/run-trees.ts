/**
 * The process trees of a backend's runs, by control groups, sessions, descendants and marks. A tree is watched from the
 * first check on, so that a known member is still found after it has cut every other relation.
 */

import type {
	AgentSignal,
	KillResult,
	RunHandle,
	RunProcess,
	RunProcesses,
	RunReference,
} from "../ports/backend.js";
import {
	killTree,
	listTree,
	type ProcessTree,
	signalVerified,
	signalWorkers,
	type TreeWatch,
	watchTree,
} from "./process-tree.js";

/** The backend's knowledge about a run's tree. */
export type TreeFacts = Omit<ProcessTree, "runId" | "rootJustEnded">;

interface Watched {
	readonly tree: ProcessTree;
	readonly watch: TreeWatch;
}

export class RunTrees {
	readonly #factsOf: (run: RunReference) => TreeFacts;
	readonly #watched = new Map<string, Watched>();

	constructor(factsOf: (run: RunReference) => TreeFacts) {
		this.#factsOf = factsOf;
	}

	signal(handle: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]> {
		const { watch } = this.#watch({ runId: handle.runId, handle });
		return signalWorkers(watch, handle.process, signal);
	}

	async signalEach(
		_run: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void> {
		for (const each of processes) signalVerified(each, signal);
	}

	processes(run: RunReference): Promise<RunProcesses> {
		return listTree(this.#watch(run).watch);
	}

	kill(run: RunReference): Promise<KillResult> {
		const { tree, watch } = this.#watch(run);
		return killTree(tree, { watch });
	}

	forget(runId: string): void {
		this.#watched.delete(runId);
	}

	#watch(run: RunReference): Watched {
		const { runId, justExited = false } = run;
		const known = this.#watched.get(runId);
		// Other facts (another handle of the same id) mean another tree.
		const facts = this.#factsOf(run);
		if (known !== undefined && isSame(known.tree, facts)) return known;
		const tree = { runId, rootJustEnded: justExited, ...facts };
		const watched = { tree, watch: watchTree(tree) };
		this.#watched.set(runId, watched);
		return watched;
	}
}

const isSame = (tree: ProcessTree, { root, groups }: TreeFacts) =>
	tree.root?.pid === root?.pid &&
	tree.root?.startTime === root?.startTime &&
	tree.groups.join() === groups.join();
