/** The lines of the table of agents: they follow from its filter, its order and its folded projects. */

import { computed, signal } from "@preact/signals";
import type { AgentStatusState } from "../../src/core/agent-status.js";
import { type Agent, list, resources } from "./fleet.js";
import { type Group, groupAgents, type Order, wanted } from "./table-order.js";
import { isVeryWide } from "./viewport.js";

const DENSE_FROM = 41;
/** Rows of an open project before "show all". */
const FOLDED_ROWS = 22;

export const filter = signal("");
export const chip = signal<ChipName | null>(null);
export const order = signal<Order>("project");
/** Projects that were opened or closed by hand. */
export const opened = signal<ReadonlyMap<string, boolean>>(new Map());

export const dense = computed(() => list.value.length >= DENSE_FROM);
/** With the columns that only very wide windows have room for. */
export const full = computed(() => dense.value && isVeryWide.value);
export const shown = computed(() => {
	const states = chip.value === null ? null : CHIPS[chip.value].states;
	return list.value.filter(
		(agent) =>
			wanted(agent, filter.value) &&
			(states === null ||
				(chip.value === "need you" ? agent.status.needs_you : states.has(agent.status.state))),
	);
});
const groups = computed(() => groupAgents(shown.value, order.value, resources.value));

export type ChipName =
	| "need you"
	| "degraded"
	| "finished"
	| "working"
	| "ready"
	| "waiting"
	| "resting"
	| "not known";

export const CHIPS: Readonly<
	Record<ChipName, { mark: AgentStatusState; states: ReadonlySet<AgentStatusState> }>
> = {
	"need you": { mark: "asks_you", states: new Set() },
	degraded: { mark: "degraded", states: new Set(["degraded"]) },
	finished: { mark: "finished", states: new Set(["finished"]) },
	working: { mark: "working", states: new Set(["working", "starting", "stopping"]) },
	ready: { mark: "ready", states: new Set(["ready", "running"]) },
	waiting: { mark: "limited", states: new Set(["limited", "restarting", "waits_for_dependency"]) },
	resting: { mark: "stopped", states: new Set(["stopped", "hibernated", "completed"]) },
	"not known": { mark: "unknown", states: new Set(["unknown"]) },
};

export function clearFilter(): void {
	filter.value = "";
	chip.value = null;
}

type Line =
	| { readonly type: "group"; readonly group: Group; readonly open: boolean }
	| { readonly type: "agent"; readonly agent: Agent }
	| { readonly type: "more"; readonly group: Group; readonly count: number };

export const expanded = signal<ReadonlySet<string>>(new Set());

/** The lines of the table from top to bottom. */
export const lines = computed((): readonly Line[] => {
	const folds = dense.value && filter.value === "" && chip.value === null;
	return groups.value.flatMap((group, index): Line[] => {
		const { name } = group;
		const rows = group.agents.map((agent): Line => ({ type: "agent", agent }));
		if (name === null) return rows;
		const open = !folds || (opened.value.get(name) ?? index === 0);
		const head: Line = { type: "group", group, open };
		if (!open) return [head];
		const hidden = rows.length - FOLDED_ROWS;
		if (!folds || hidden <= 3 || expanded.value.has(name)) return [head, ...rows];
		return [head, ...rows.slice(0, FOLDED_ROWS), { type: "more", group, count: hidden }];
	});
});
