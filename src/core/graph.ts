/**
 * Dependency graphs of agents and tasks. The fleet file rejects cycles; starts follow the edges, stops go against them.
 *
 * Keeps S7: every node comes after its dependencies; the stop order is the reverse.
 */

/** Each node with its dependencies. Map order is the order in the file. */
export type DependencyGraph = ReadonlyMap<string, readonly string[]>;

/** The maximum number of cycles to list. */
export const CYCLES_MAX = 100;

/**
 * Cycles, each once and without repeating its first node: `a → b → a` is `["a", "b"]`. Cycles that share their closing
 * edge are listed as one, so the list is empty exactly if there is no cycle and never longer than the number of edges.
 */
export function findCycles(graph: DependencyGraph): readonly (readonly string[])[] {
	const cycles: (readonly string[])[] = [];
	walk(graph, {
		leave: () => {},
		cycle: (trail, from) => {
			if (cycles.length < CYCLES_MAX) cycles.push(trail.slice(from));
		},
	});
	return cycles;
}

/**
 * Every node once, dependencies first, otherwise in map order (S7). Dependencies outside of the graph
 * and edges that close a cycle are ignored: `findCycles` lists the latter.
 */
export function orderByDependencies(graph: DependencyGraph): readonly string[] {
	const order: string[] = [];
	walk(graph, { leave: (node) => order.push(node), cycle: () => {} });
	return order;
}

interface Visitor {
	/** Called after all dependencies of this node were left. */
	readonly leave: (node: string) => void;
	/** The last node of the trail depends on the one at index `from`. */
	readonly cycle: (trail: readonly string[], from: number) => void;
}

/** Depth first, with an explicit stack: a long chain would overflow the call stack. */
function walk(graph: DependencyGraph, visitor: Visitor): void {
	const left = new Set<string>();
	for (const root of graph.keys()) {
		const trail: string[] = [];
		const depthOf = new Map<string, number>();
		const pending: Iterator<string>[] = [];
		const enter = (node: string) => {
			depthOf.set(node, trail.length);
			trail.push(node);
			pending.push(new Set(graph.get(node)).values());
		};
		if (!left.has(root)) enter(root);
		while (trail.length > 0) {
			const next = pending.at(-1)?.next();
			if (next === undefined || next.done) {
				const node = trail.pop() as string;
				pending.pop();
				depthOf.delete(node);
				left.add(node);
				visitor.leave(node);
				continue;
			}
			const openAt = depthOf.get(next.value);
			if (openAt !== undefined) visitor.cycle(trail, openAt);
			else if (graph.has(next.value) && !left.has(next.value)) enter(next.value);
		}
	}
}
