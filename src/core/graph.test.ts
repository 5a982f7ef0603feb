import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CYCLES_MAX, findCycles, orderByDependencies } from "./graph.js";

const graphOf = (edges: Record<string, readonly string[]>) => new Map(Object.entries(edges));

/** A graph whose edges only point to earlier nodes, so it has no cycle. */
const acyclic = fc
	.array(fc.array(fc.nat({ max: 30 }), { maxLength: 5 }), { maxLength: 30 })
	.map((rows) => {
		const edges = rows.map(
			(row, index) => [`n${index}`, row.filter((to) => to < index).map((to) => `n${to}`)] as const,
		);
		// Reversed, so that map order alone would be wrong.
		return new Map(edges.toReversed());
	});

const anyGraph = fc
	.array(fc.array(fc.nat({ max: 9 }), { maxLength: 4 }), { maxLength: 10 })
	.map((rows) => new Map(rows.map((row, index) => [`n${index}`, row.map((to) => `n${to}`)])));

describe("findCycles", () => {
	it("finds no cycle in a graph without one", () => {
		fc.assert(fc.property(acyclic, (graph) => findCycles(graph).length === 0));
	});

	it("names each cycle once, starting with the node that was written first", () => {
		expect(findCycles(graphOf({ a: ["b"], b: ["c"], c: ["a"] }))).toEqual([["a", "b", "c"]]);
	});

	it("names a node that depends on itself", () => {
		expect(findCycles(graphOf({ a: ["a"] }))).toEqual([["a"]]);
	});

	it("names two cycles that share a node", () => {
		expect(findCycles(graphOf({ a: ["b", "c"], b: ["a"], c: ["a"] }))).toEqual([
			["a", "b"],
			["a", "c"],
		]);
	});

	it("counts an edge that is written twice once", () => {
		expect(findCycles(graphOf({ a: ["b", "b"], b: ["a", "a"] }))).toEqual([["a", "b"]]);
	});

	it("passes over dependencies that are not in the graph", () => {
		expect(findCycles(graphOf({ a: ["ghost"] }))).toEqual([]);
	});

	it("only names real cycles, and names one whenever no order exists", () => {
		fc.assert(
			fc.property(anyGraph, (graph) => {
				const cycles = findCycles(graph);
				for (const cycle of cycles) {
					for (const [index, node] of cycle.entries()) {
						const next = cycle[(index + 1) % cycle.length] as string;
						expect(graph.get(node)).toContain(next);
					}
				}
				const order = orderByDependencies(graph);
				const ordered = [...graph].every(([node, needs]) =>
					needs.every((need) => !graph.has(need) || order.indexOf(need) < order.indexOf(node)),
				);
				expect(cycles.length === 0).toBe(ordered);
			}),
		);
	});

	it("lists a bounded number of cycles", () => {
		const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
		const everyEdge = new Map(names.map((name) => [name, names]));
		expect(findCycles(everyEdge)).toHaveLength(CYCLES_MAX);
	});
});

describe("orderByDependencies", () => {
	it("S7: puts every node after all that it depends on", () => {
		fc.assert(
			fc.property(acyclic, (graph) => {
				const order = orderByDependencies(graph);
				expect(order.toSorted()).toEqual([...graph.keys()].toSorted());
				for (const [node, needs] of graph) {
					for (const need of needs) {
						expect(order.indexOf(need)).toBeLessThan(order.indexOf(node));
					}
				}
			}),
		);
	});

	it("keeps the written order where dependencies leave it open", () => {
		const graph = graphOf({ web: ["db"], cache: [], db: [] });
		expect(orderByDependencies(graph)).toEqual(["db", "web", "cache"]);
	});

	it("still lists every node once when there is a cycle", () => {
		expect(orderByDependencies(graphOf({ a: ["b"], b: ["a"] }))).toEqual(["b", "a"]);
	});

	it("survives a chain that is longer than the call stack", () => {
		const length = 50_000;
		const chain = new Map(
			Array.from({ length }, (_, index) => [`n${index}`, [`n${index + 1}`]] as const),
		);
		expect(orderByDependencies(chain)[0]).toBe(`n${length - 1}`);
	});
});
