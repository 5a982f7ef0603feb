/** Where the tasks of a plan are drawn: left to right by depth, near the tasks they wait for. */

export interface PlanNode {
	readonly name: string;
	readonly depends_on: readonly string[];
}

export interface NodePosition {
	readonly x: number;
	readonly y: number;
}

export interface Layout {
	readonly spots: ReadonlyMap<string, NodePosition>;
	readonly width: number;
	readonly height: number;
}

export const NODE = { width: 164, height: 58 };
const GAP = { x: 30, y: 16 };

export function layOut(nodes: readonly PlanNode[]): Layout {
	const depths = depthsOf(nodes);
	const columns = new Map<number, PlanNode[]>();
	for (const node of nodes) {
		const depth = depths.get(node.name) ?? 0;
		columns.set(depth, [...(columns.get(depth) ?? []), node]);
	}
	const rows = Math.max(...[...columns.values()].map((column) => column.length), 1);
	const height = rows * (NODE.height + GAP.y) - GAP.y;
	const spots = new Map<string, NodePosition>();
	for (const [depth, column] of [...columns].sort(([a], [b]) => a - b)) {
		const middle = ({ depends_on: needs }: PlanNode) => {
			const ys = needs.flatMap((name) => spots.get(name)?.y ?? []);
			return ys.length === 0 ? 0 : ys.reduce((sum, y) => sum + y, 0) / ys.length;
		};
		const sorted = depth === 0 ? column : [...column].sort((a, b) => middle(a) - middle(b));
		const used = sorted.length * (NODE.height + GAP.y) - GAP.y;
		for (const [index, { name }] of sorted.entries()) {
			const y = (height - used) / 2 + index * (NODE.height + GAP.y);
			spots.set(name, { x: depth * (NODE.width + GAP.x), y });
		}
	}
	const width = columns.size * (NODE.width + GAP.x) - GAP.x;
	return { spots, width, height };
}

/** The longest way from a task without needs; a cycle, which the daemon refuses, ends the search. */
function depthsOf(nodes: readonly PlanNode[]): ReadonlyMap<string, number> {
	const byName = new Map(nodes.map((node) => [node.name, node]));
	const depths = new Map<string, number>();
	const depthOf = (name: string, seen: ReadonlySet<string>): number => {
		const known = depths.get(name);
		if (known !== undefined) return known;
		const needs = byName.get(name)?.depends_on ?? [];
		const depth = seen.has(name)
			? 0
			: Math.max(-1, ...needs.map((each) => depthOf(each, new Set(seen).add(name)))) + 1;
		depths.set(name, depth);
		return depth;
	};
	for (const { name } of nodes) depthOf(name, new Set());
	return depths;
}

/** A curve from the right side of one node to the left side of another. */
export function edgePath(from: NodePosition, to: NodePosition): string {
	const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
	const [x2, y2] = [to.x, to.y + NODE.height / 2];
	const bend = x2 - GAP.x;
	return `M${x1} ${y1}H${bend}C${bend + GAP.x * 0.6} ${y1} ${x2 - GAP.x * 0.6} ${y2} ${x2} ${y2}`;
}
