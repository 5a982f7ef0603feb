/** Stops agents, each after its dependents (S7). */

import { type DependencyGraph, orderByDependencies } from "../core/graph.js";

/** Results in the order of `ids`. Independent agents stop concurrently. */
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
