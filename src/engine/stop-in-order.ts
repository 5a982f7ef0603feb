/** Stops agents, each after all that depend on it have stopped (S7). */

import { type DependencyGraph, orderByDependencies } from "../core/graph.js";

/** Answers in the order of `ids`. Those that do not depend on each other stop at the same time. */
export async function stopInOrder<T>(
	graph: DependencyGraph,
	ids: readonly string[],
	stop: (id: string) => Promise<T>,
): Promise<readonly T[]> {
	const done = new Map<string, Promise<T>>();
	for (const id of orderByDependencies(graph).toReversed()) {
		if (!ids.includes(id)) continue;
		const dependants = [...done]
			.filter(([other]) => graph.get(other)?.includes(id))
			.map(([, promise]) => promise);
		done.set(
			id,
			Promise.allSettled(dependants).then(() => stop(id)),
		);
	}
	return Promise.all(ids.flatMap((id) => done.get(id) ?? []));
}
