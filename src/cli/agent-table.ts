/** Agents as a table with their states, and the reason for those in trouble. */

import { renderUsd } from "../core/budget.js";
import { renderExit } from "../core/exit.js";
import { renderElapsed, restartingAt } from "../core/units.js";
import type { ExitJson } from "../http/contract/agent-parts.js";
import type { AgentJson } from "../http/contract/agents.js";
import type { Output } from "./output.js";
import { type Cell, renderTable } from "./table.js";

const HEAD = ["AGENT", "STATE", "PID", "UPTIME", "RESTARTS", "LAST EXIT"];
/** In a narrow terminal, columns are dropped in this order. */
const DROPPABLE = ["TODAY", "LAST EXIT", "RESTARTS", "PID", "UPTIME"];

export function renderAgentTable(
	agents: readonly AgentJson[],
	output: Pick<Output, "colors" | "columns">,
	nowMs: number,
	silent: readonly SilentRemote[] = [],
): string[] {
	// Most fleets have no agent that reports it.
	const withUsage = agents.some(({ usage }) => usage != null && usage.tokens_today > 0);
	const rows = [
		...agents.map((agent) => renderRow(agent, withUsage, output.colors, nowMs)),
		...silent.map((remote) => renderSilent(remote, withUsage, output.colors)),
	];
	return renderTable(
		[...HEAD, ...(withUsage ? ["TODAY"] : []), "REASON"],
		rows,
		output.columns,
		DROPPABLE,
	);
}

/** A remote whose agents are unknown, because it does not answer. */
export interface SilentRemote {
	readonly name: string;
	/** With its age. */
	readonly reason: string;
}

function renderSilent(
	{ name, reason }: SilentRemote,
	withUsage: boolean,
	{ red }: Output["colors"],
): Cell[] {
	const empty = Array.from({ length: HEAD.length - 2 + (withUsage ? 1 : 0) }, () => ({
		text: "-",
	}));
	return [{ text: `${name}/*` }, { text: "unreachable", paint: red }, ...empty, { text: reason }];
}

function renderRow(
	agent: AgentJson,
	withUsage: boolean,
	colors: Output["colors"],
	nowMs: number,
): Cell[] {
	const { pid, uptime_ms: uptimeMs, restarts, last_exit: lastExit } = agent;
	const trouble = isInTrouble(agent);
	return [
		{ text: agent.id },
		{ text: renderState(agent, nowMs), paint: stateColor(agent, colors) },
		{ text: pid === null ? "-" : String(pid) },
		{ text: uptimeMs === null ? "-" : renderElapsed(uptimeMs) },
		{ text: String(restarts) },
		{ text: lastExit === null ? "-" : renderExitShort(lastExit) },
		...(withUsage ? [{ text: renderToday(agent.usage) }] : []),
		{ text: renderReason(agent, nowMs), cut: !trouble, ...(!trouble && { paint: colors.dim }) },
	];
}

/** `12.3k $0.42`: tokens and cost of this day. */
function renderToday(usage: AgentJson["usage"]): string {
	if (!usage) return "-";
	const { tokens_today: tokens, usd_today: usd } = usage;
	const short = tokens < 1_000 ? String(tokens) : COMPACT.format(tokens);
	return usd === null ? short : `${short} ${renderUsd(usd)}`;
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/**
 * `running`, `running, busy`, `restarting in 24s, degraded`. An agent that is halted, waits or is held
 * is stopped, so the state shows the reason instead. Activity is shown if the agent's CLI reveals it.
 */
export function renderState(agent: AgentJson, nowMs: number): string {
	const stopped = agent.process === "stopped";
	if (stopped && agent.policy === "halted") return "halted";
	if (stopped && agent.waiting) return "waiting";
	if (agent.circuit !== "closed") return `circuit ${agent.circuit.replace("_", " ")}`;
	if (stopped && agent.desired === "up") {
		if (agent.usage?.held_until) return "over budget";
		if (agent.activity === "rate_limited") return "usage limit";
	}
	const isKnown = agent.process === "running" && typeof agent.activity_source === "string";
	const does = isKnown ? [agent.activity.replace("_", " ")] : [];
	return [renderProcess(agent, nowMs), ...judgement(agent), ...does].join(", ");
}

function renderProcess(agent: AgentJson, nowMs: number): string {
	if (agent.kind === "call") return "on call";
	if (agent.process !== "stopped") return agent.process;
	const inMs = startsInMs(agent, nowMs);
	if (hibernates(agent)) return "hibernated";
	if (inMs === null) return hasCompleted(agent) ? "completed" : "stopped";
	return inMs <= 0 ? "restarting now" : `restarting in ${renderElapsed(inMs)}`;
}

/** Agents of older daemons have no status. */
const hasCompleted = ({ status }: Pick<AgentJson, "status">) => status?.state === "completed";

const hibernates = ({ hibernation }: Pick<AgentJson, "hibernation">) =>
	hibernation?.state === "hibernated";

/** `degraded`, because of its runs or of the calls to it. */
function judgement({ policy, health }: AgentJson): readonly string[] {
	if (policy !== "healthy") return [policy];
	return health === "healthy" ? [] : [health];
}

export function stateColor(agent: AgentJson, colors: Output["colors"]): (text: string) => string {
	if (agent.policy === "halted" || agent.process === "unknown") return colors.red;
	if (isInTrouble(agent)) return colors.yellow;
	return agent.process === "running" ? colors.green : colors.dim;
}

/** Whether the operator should check it: it is not in the wanted state, or not healthy. */
function isInTrouble(agent: AgentJson): boolean {
	if (agent.circuit !== "closed" || agent.health !== "healthy") return true;
	if (agent.kind === "call") return Boolean(agent.usage?.held_until);
	return (
		agent.policy !== "healthy" ||
		agent.waiting ||
		agent.activity === "waiting_input" ||
		agent.activity === "rate_limited" ||
		Boolean(agent.turn_failure) ||
		agent.process === "unknown" ||
		(agent.desired === "up" && agent.process === "stopped" && !hibernates(agent))
	);
}

function renderReason(agent: AgentJson, nowMs: number): string {
	const reason = reasonBesideState(agent);
	if (agent.waiting) return `${reason}: \`reeve answer ${agent.id} fresh|continue|stop\``;
	const next = renderNextStart(agent, nowMs);
	return next === null ? reason : `${next}; ${reason}`;
}

/** The reason without the time of the restart, which the state shows as a countdown. */
export function reasonBesideState({ reason, next_restart_at: at }: AgentJson): string {
	return at === null ? reason : reason.replace(restartingAt(at), "");
}

/** When a held agent starts: `starts in 28s`. The state of others shows it. */
export function renderNextStart(agent: AgentJson, nowMs: number): string | null {
	if (agent.activity !== "rate_limited") return null;
	const inMs = startsInMs(agent, nowMs);
	if (inMs === null) return null;
	return inMs <= 0 ? "starts now" : `starts in ${renderElapsed(inMs)}`;
}

/** Whole seconds, rounded up. */
function startsInMs({ next_restart_at: at }: AgentJson, nowMs: number): number | null {
	const atMs = at === null ? Number.NaN : Date.parse(at);
	return Number.isNaN(atMs) ? null : Math.ceil((atMs - nowMs) / 1_000) * 1_000;
}

/** `code 1`, `SIGKILL`, or the cause if that is more specific: `usage_limit`, `on request`. */
export function renderExitShort(exit: Pick<ExitJson, "code" | "signal" | "cause">): string {
	if (exit.cause === "requested") return "on request";
	const own = !["unknown", "crash", "completed"].includes(exit.cause);
	return own ? exit.cause : renderExit(exit).replace("exit code", "code");
}

/** `200 agents: 180 running, 15 stopped, 5 halted`. */
export function renderTally(agents: readonly AgentJson[]): string {
	const words = agents.map((agent) => {
		if (agent.kind === "call") return "on call";
		if (agent.policy === "halted") return "halted";
		if (agent.waiting) return "waiting for an answer";
		if (hasCompleted(agent)) return "completed";
		if (hibernates(agent)) return "hibernated";
		return agent.process === "stopped" && agent.next_restart_at !== null
			? "restarting"
			: agent.process;
	});
	return `${agents.length} ${agents.length === 1 ? "agent" : "agents"}: ${tally(words)}`;
}

/** The count of each word, in order of appearance: `3 started, 1 failed`. */
export function tally(words: readonly string[]): string {
	const counts = new Map<string, number>();
	for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
	return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
