/** Cards of everything that needs the operator, in a fixed order: questions, failures, circuits, dead letters. */

import type { AgentStatusState } from "../../src/core/agent-status.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { Routes } from "../../src/http/contract/routes.js";

type Message = Routes["GET /api/v1/inbox"]["reply"]["messages"][number];

export type CardKind =
	| "question"
	| "ended"
	| "login_lost"
	| "halted"
	| "turn_failed"
	| "over_budget"
	| "circuit_open"
	| "stalled"
	| "dead_letters"
	| "undelivered";

export interface Card {
	readonly key: string;
	readonly kind: CardKind;
	/** One, or several with the same kind and cause. */
	readonly agents: readonly AgentJson[];
	readonly message: Message | null;
	readonly sinceMs: number | null;
}

const KINDS: Partial<Record<AgentStatusState, CardKind>> = {
	asks_permission: "question",
	asks_you: "question",
	ended: "ended",
	login_lost: "login_lost",
	halted: "halted",
	over_budget: "over_budget",
	circuit_open: "circuit_open",
	stalled: "stalled",
	dead_letters: "dead_letters",
};

/** Cards of a lower rank come first. */
const RANKS: Readonly<Record<CardKind, number>> = {
	question: 0,
	ended: 0,
	login_lost: 1,
	halted: 1,
	turn_failed: 1,
	over_budget: 1,
	circuit_open: 2,
	stalled: 2,
	dead_letters: 3,
	undelivered: 3,
};

/** From this many on, cards of the same kind and cause become one. */
const TOGETHER_MIN = 3;

export function cardsOf(
	agents: readonly AgentJson[],
	messages: readonly Message[],
): readonly Card[] {
	const byId = new Map(agents.map((agent) => [agent.id, agent]));
	const undelivered = messages.flatMap((message): Card[] => {
		const agent = byId.get(message.agent);
		if (agent === undefined || message.phase !== "dead") return [];
		const sinceMs = Date.parse(message.accepted_at);
		return [{ key: `m:${message.id}`, kind: "undelivered", agents: [agent], message, sinceMs }];
	});
	const cards = joinSame(agents.flatMap(cardOf));
	return [...cards, ...undelivered].sort(
		(a, b) =>
			RANKS[a.kind] - RANKS[b.kind] ||
			(a.sinceMs ?? 0) - (b.sinceMs ?? 0) ||
			(a.key < b.key ? -1 : 1),
	);
}

function cardOf(agent: AgentJson): readonly Card[] {
	const { status, turn_failure: failure } = agent;
	const kind = KINDS[status.state] ?? (status.needs_you && failure !== null ? "turn_failed" : null);
	if (kind === null || !status.needs_you) return [];
	const sinceMs = status.since === null ? null : Date.parse(status.since);
	return [{ key: keyOf(agent, kind), kind, agents: [agent], message: null, sinceMs }];
}

/** The same question keeps its card; another question of the same agent is another card. */
function keyOf({ id, question }: AgentJson, kind: CardKind): string {
	return `${kind}:${id}:${question?.id ?? ""}`;
}

/** The cause that two cards share; null for cards that stay alone. */
function causeOf({ kind, agents: [agent] }: Card): string | null {
	if (agent === undefined) return null;
	const { question, adapter, status, project } = agent;
	if (kind === "question") {
		return question && question.kind !== "text"
			? `${kind}|${adapter}|${question.detail ?? question.text}`
			: null;
	}
	if (kind === "ended") return `${kind}|${project}|${status.why}`;
	return kind === "halted" || kind === "login_lost"
		? `${kind}|${status.why.replace(/\d[\d.]*/g, "#")}`
		: null;
}

function joinSame(cards: readonly Card[]): readonly Card[] {
	const groups = new Map<string, Card[]>();
	for (const card of cards) {
		const cause = causeOf(card) ?? card.key;
		groups.set(cause, [...(groups.get(cause) ?? []), card]);
	}
	return [...groups].flatMap(([cause, group]) => {
		if (group.length < TOGETHER_MIN) return group;
		const times = group.flatMap(({ sinceMs }) => (sinceMs === null ? [] : [sinceMs]));
		return [
			{
				key: `same:${cause}`,
				kind: group[0]?.kind ?? "halted",
				agents: group.flatMap(({ agents }) => agents),
				message: null,
				sinceMs: times.length === 0 ? null : Math.min(...times),
			},
		];
	});
}

/** How many things need the operator: a card of several agents counts each. */
export function countNeeds(cards: readonly Card[]): number {
	return cards.reduce((sum, { agents }) => sum + agents.length, 0);
}

/** A step that Reeve takes by itself. */
export interface NextStep {
	readonly at: string;
	readonly text: string;
}

const NEXT: Partial<Record<AgentStatusState, (id: string) => string>> = {
	restarting: (id) => `${id} restarts`,
	circuit_open: (id) => `${id} lets one call through`,
	over_budget: (id) => `${id}: its budget resets`,
	limited: (id) => `${id}: its limit lifts`,
};

export function nextSteps(
	agents: readonly AgentJson[],
	scheduled: readonly NextStep[] = [],
): readonly NextStep[] {
	const groups = new Map<
		string,
		{ readonly at: string; readonly ids: string[]; state: AgentStatusState }
	>();
	for (const { id, status } of agents) {
		if (status.until === null || NEXT[status.state] === undefined) continue;
		// Agents of one account continue together.
		const key = status.state === "limited" ? `${status.until}|${status.why}` : id;
		const group = groups.get(key) ?? { at: status.until, ids: [], state: status.state };
		group.ids.push(id);
		groups.set(key, group);
	}
	const own = [...groups.values()].map(({ at, ids, state }) => ({
		at,
		text: describeNext(ids, state),
	}));
	return [...own, ...scheduled].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function describeNext([first = "", ...others]: readonly string[], state: AgentStatusState): string {
	if (others.length > 0) return `A limit lifts, ${others.length + 1} agents continue`;
	return NEXT[state]?.(first) ?? first;
}
