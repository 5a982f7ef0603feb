/** The state of `reeve top`: the agents in their order, the selected one, and the current mode. Pure. */

import { ATTENTION_ORDER } from "../../core/agent-status.js";
import type { AgentJson } from "../../http/contract/agents.js";
import type { LiveResources } from "../../http/contract/streams.js";

export type Mode =
	| { readonly type: "table" }
	/** A text about an agent that fills the screen. */
	| {
			readonly type: "page";
			readonly title: string;
			readonly lines: readonly string[];
			/** How many lines are scrolled out below; 0 follows the end. */
			readonly fromEnd: number;
			/** Whether it starts at its end, as a log does. */
			readonly isLog: boolean;
	  }
	| { readonly type: "typing"; readonly what: Typing; readonly text: string }
	| { readonly type: "confirm"; readonly what: "restart" | "stop"; readonly id: string };

export type Typing =
	| { readonly type: "filter" }
	| { readonly type: "message"; readonly id: string }
	/** The text that answers a question. */
	| { readonly type: "answer"; readonly id: string; readonly question: string };

/** A remote that does not answer: its agents are missing. */
export interface SilentHost {
	readonly name: string;
	/** When its daemon last answered; null if unknown. */
	readonly seenAtMs: number | null;
	readonly reason: string;
}

export interface TopState {
	readonly agents: readonly AgentJson[];
	readonly resources: LiveResources["agents"];
	readonly host: string;
	readonly filter: string;
	/** The selected agent; null if none matches the filter. */
	readonly selected: string | null;
	readonly mode: Mode;
	/** Since when the daemon is not connected; null while it is. */
	readonly staleSinceMs: number | null;
	/** Remotes that do not answer, so their agents are missing. */
	readonly silent: readonly SilentHost[];
	readonly toast: { readonly text: string; readonly untilMs: number } | null;
}

export const EMPTY: TopState = Object.freeze({
	agents: [],
	resources: {},
	host: "",
	filter: "",
	selected: null,
	mode: { type: "table" } as const,
	staleSinceMs: null,
	silent: [],
	toast: null,
});

const rankOf = ({ status }: AgentJson) =>
	(status.needs_you ? 0 : 100) + ATTENTION_ORDER.indexOf(status.state);

/** Those that need a person first, the oldest of each kind first; the rest by kind and name. */
export function orderAgents(agents: readonly AgentJson[]): readonly AgentJson[] {
	return agents.toSorted((a, b) => {
		const byRank = rankOf(a) - rankOf(b);
		if (byRank !== 0) return byRank;
		const [one, other] = [a.status.since ?? "", b.status.since ?? ""];
		const bySince = a.status.needs_you && one !== other ? (one < other ? -1 : 1) : 0;
		return bySince !== 0 ? bySince : a.id < b.id ? -1 : 1;
	});
}

/** The agents that match the filter, in order. */
export function shownAgents({ agents, filter }: TopState): readonly AgentJson[] {
	const wanted = filter.toLowerCase();
	const matches = ({ id, adapter, status }: AgentJson) =>
		[id, adapter, status.state.replaceAll("_", " "), status.why].some((text) =>
			text.toLowerCase().includes(wanted),
		);
	return orderAgents(wanted === "" ? agents : agents.filter(matches));
}

export function selectedAgent(state: TopState): AgentJson | null {
	return shownAgents(state).find(({ id }) => id === state.selected) ?? null;
}

/** Keeps the selection on the same agent, wherever it is now. */
export function keepSelection(state: TopState): TopState {
	const shown = shownAgents(state);
	const isThere = shown.some(({ id }) => id === state.selected);
	return isThere ? state : { ...state, selected: shown[0]?.id ?? null };
}

/** Selects another row; the ends stay where they are. */
export function moveSelection(state: TopState, by: number): TopState {
	const shown = shownAgents(state);
	const at = shown.findIndex(({ id }) => id === state.selected);
	const next = Math.min(Math.max(0, at + by), shown.length - 1);
	return { ...state, selected: shown[next]?.id ?? null };
}

/** Selects the next or previous agent that needs a person, around the end. */
export function moveToNeedsYou(state: TopState, by: 1 | -1): TopState {
	const shown = shownAgents(state);
	const at = shown.findIndex(({ id }) => id === state.selected);
	for (let step = 1; step <= shown.length; step++) {
		const agent = shown[(at + by * step + shown.length * step) % shown.length];
		if (agent?.status.needs_you) return { ...state, selected: agent.id };
	}
	return state;
}

/** Replaces these agents, and keeps the others. */
export function mergeAgents(
	state: TopState,
	changed: readonly AgentJson[],
	asked: ReadonlySet<string>,
): TopState {
	const now = new Map(state.agents.map((agent) => [agent.id, agent]));
	// An agent that was asked for and not returned was removed.
	for (const id of asked) now.delete(id);
	for (const agent of changed) now.set(agent.id, agent);
	return keepSelection({ ...state, agents: [...now.values()] });
}

/** The hosts with these names. Earlier information about them is kept until the daemon has responded. */
export function describeSilent(
	names: ReadonlySet<string>,
	before: readonly SilentHost[],
): readonly SilentHost[] {
	return [...names].sort().map((name) => {
		const known = before.find((host) => host.name === name);
		return known ?? { name, seenAtMs: null, reason: "it does not answer" };
	});
}
