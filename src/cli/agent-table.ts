/** Agents as a table: what each does, and for those that are in trouble why. */

import { renderUsd } from "../core/budget.js";
import { renderExit } from "../core/exit.js";
import { renderElapsed } from "../core/units.js";
import type { AgentJson, ExitJson } from "../http/contract/agents.js";
import type { Output } from "./output.js";
import { type Cell, renderTable } from "./table.js";

const HEAD = ["AGENT", "STATE", "PID", "UPTIME", "RESTARTS", "LAST EXIT"];
/** In a narrow terminal, the first of these go first. */
const DROPPABLE = ["TODAY", "LAST EXIT", "RESTARTS", "PID", "UPTIME"];

export function renderAgentTable(
	agents: readonly AgentJson[],
	output: Pick<Output, "colors" | "columns">,
	nowMs: number,
): string[] {
	// Most fleets have no agent that tells it.
	const withUsage = agents.some(({ usage }) => usage != null && usage.tokens_today > 0);
	const rows = agents.map((agent) => renderRow(agent, withUsage, output.colors, nowMs));
	return renderTable(
		[...HEAD, ...(withUsage ? ["TODAY"] : []), "REASON"],
		rows,
		output.columns,
		DROPPABLE,
	);
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
		{ text: renderState(agent), paint: stateColor(agent, colors) },
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
 * `running`, `running, busy`, `running, degraded`; one that is halted or waits is stopped, which need not
 * be said. What an agent does is said where its CLI lets it be known.
 */
export function renderState(agent: AgentJson): string {
	if (agent.kind === "call" && agent.circuit === "closed") return "on call";
	if (agent.circuit !== "closed") return `circuit ${agent.circuit.replace("_", " ")}`;
	const special = agent.policy === "halted" ? "halted" : agent.waiting ? "waiting" : null;
	if (special !== null && agent.process === "stopped") return special;
	if (agent.usage?.held_until && agent.desired === "up" && agent.process === "stopped") {
		return "over budget";
	}
	const isKnown = agent.process === "running" && typeof agent.activity_source === "string";
	const does = isKnown ? [agent.activity.replace("_", " ")] : [];
	const how = agent.policy === "healthy" ? does : [agent.policy, ...does];
	return [agent.process, ...how].join(", ");
}

export function stateColor(agent: AgentJson, colors: Output["colors"]): (text: string) => string {
	if (agent.policy === "halted" || agent.process === "unknown") return colors.red;
	if (isInTrouble(agent)) return colors.yellow;
	return agent.process === "running" ? colors.green : colors.dim;
}

/** Whether somebody should look: it is not as it was asked to be, or not well. */
function isInTrouble(agent: AgentJson): boolean {
	if (agent.circuit !== "closed") return true;
	if (agent.kind === "call") return false;
	return (
		agent.policy !== "healthy" ||
		agent.waiting ||
		agent.activity === "waiting_input" ||
		agent.activity === "rate_limited" ||
		agent.process === "unknown" ||
		(agent.desired === "up" && agent.process === "stopped")
	);
}

function renderReason(agent: AgentJson, nowMs: number): string {
	if (agent.waiting) return `${agent.reason}: \`reeve answer ${agent.id} fresh|continue|stop\``;
	const next = renderNextStart(agent, nowMs);
	return next === null ? agent.reason : `${next}; ${agent.reason}`;
}

/** When it starts next: `starts in 28s`. */
export function renderNextStart(agent: AgentJson, nowMs: number): string | null {
	if (agent.next_restart_at === null) return null;
	const inMs = Date.parse(agent.next_restart_at) - nowMs;
	if (Number.isNaN(inMs)) return null;
	return inMs <= 0 ? "starts now" : `starts in ${renderElapsed(Math.ceil(inMs / 1_000) * 1_000)}`;
}

/** `code 1`, `SIGKILL`, or what the agent said of it: `usage_limit`. */
export function renderExitShort(exit: Pick<ExitJson, "code" | "signal" | "cause">): string {
	const own = !["unknown", "crash", "completed"].includes(exit.cause);
	return own ? exit.cause : renderExit(exit).replace("exit code", "code");
}

/** `200 agents: 180 running, 15 stopped, 5 halted`. */
export function renderTally(agents: readonly AgentJson[]): string {
	const words = agents.map((agent) => {
		if (agent.kind === "call") return "on call";
		if (agent.policy === "halted") return "halted";
		return agent.waiting ? "waiting for an answer" : agent.process;
	});
	return `${agents.length} ${agents.length === 1 ? "agent" : "agents"}: ${tally(words)}`;
}

/** How often each word is there, the first seen first: `3 started, 1 failed`. */
export function tally(words: readonly string[]): string {
	const counts = new Map<string, number>();
	for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
	return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
