/** The state of an agent as text: the same everywhere. */

import { repeatsState, STATUS_STYLES, shortReason } from "../../src/core/agent-status.js";
import type { Agent } from "./fleet.js";
import { countOf, sentence, visibleLine } from "./format.js";
import { letterCounts, letterReasons } from "./inbox.js";
import { Age, Left, Until } from "./parts/time.js";

/** `Asks permission`, `Restarts in 24 s`, `3 dead letters`. */
export function StateWord({ agent }: { agent: Agent }) {
	const { state, until, why } = agent.status;
	const { word, tone, shape } = STATUS_STYLES[state];
	const urgent = tone === "red" || (tone === "amber" && shape !== "ring");
	const base = wordOf(agent, word, why);
	return (
		<span class={`word ${urgent ? `${tone} urgent` : ""}`}>
			{base}
			{until !== null && (state === "restarting" || state === "limited") && (
				<>
					{" "}
					<Until at={until} before={state === "limited" ? "until" : "in"} />
				</>
			)}
		</span>
	);
}

function wordOf(agent: Agent, word: string, why: string): string {
	const { state } = agent.status;
	if (state === "dead_letters") {
		const count = letterCounts.value.get(agent.id);
		return count === undefined ? word : countOf(count, "dead letter");
	}
	if (state === "waits_for_dependency" && why.startsWith("waits for")) {
		return sentence(visibleLine(why.replace(/;.*$/, "")));
	}
	if (state === "working" && agent.kind !== "session" && why !== "") return visibleLine(why);
	return word;
}

/** States whose end matters more than their age. */
const isUntil = ({ state, until }: Agent["status"]) =>
	state === "restarting" || (state === "limited" && until !== null);

/** `Working · 2 min · by hook`. */
export function StateLine({ agent, source = true }: { agent: Agent; source?: boolean }) {
	const { status } = agent;
	return (
		<span class="state-line">
			<StateWord agent={agent} />
			{status.since !== null && !isUntil(status) && (
				<>
					{" "}
					<span class="faint">
						· <Age since={status.since} />
					</span>
				</>
			)}
			{status.state === "limited" && status.until !== null && (
				<span class="faint">
					{" "}
					· <Left until={status.until} /> left
				</span>
			)}
			{source && status.source !== null && <span class="faint"> · by {status.source}</span>}
		</span>
	);
}

/** The reason, without what its word already says. */
export function whyOf(agent: Agent): string {
	const { state, why } = agent.status;
	if (state === "waits_for_dependency" && why.startsWith("waits for")) {
		return visibleLine(agent.blocked ?? "");
	}
	if (state === "dead_letters") {
		const reasons = letterReasons(agent.id);
		if (reasons.length > 0) return visibleLine(reasons.join(". "));
	}
	if (state === "working" && agent.kind !== "session") return "";
	if (repeatsState(state, why)) return "";
	return sentence(visibleLine(shortReason(why)));
}

/** `claude`, `call`, `worker · 3 processes`. */
export function cliOf({ kind, adapter, processes }: Agent): string {
	if (kind === "session") return adapter === "generic" ? "program" : visibleLine(adapter);
	return kind === "worker" && processes > 1 ? `worker · ${processes} processes` : kind;
}
