/** Describes the crash policy of an agent. */

import type { AgentDetailJson } from "../../src/http/contract/agents.js";
import type { RunJson } from "../../src/http/contract/history.js";
import { countOf, renderTook, sentence, visibleLine } from "./format.js";

type Settings = NonNullable<AgentDetailJson["crash"]["settings"]>;

/** How close an agent is to being slowed down or halted. */
export function limitWords(settings: Settings, flaps: number): string {
	if (settings.on_failure === "stop") return "Its first failure halts it.";
	const counted = `${countOf(flaps, "crash", "crashes")} in a row counted`;
	const slows = `${settings.flap_threshold} in ${renderTook(settings.window_ms)} of running slow it down`;
	const halts =
		settings.halt === "never"
			? "and it is never halted for that"
			: `${settings.halt_threshold} in a row halt it`;
	return `${counted}; ${slows}, ${halts}.`;
}

/** The reaction to a crash, as the end of "After a crash". */
export function crashWords(settings: Settings): string {
	if (settings.on_failure === "stop") return "it is halted until you resume it";
	const { delay } = settings;
	if (delay === null) return `it restarts after ${renderTook(settings.transient_delay_ms)}`;
	const first = renderTook(delay.initial_ms);
	if (delay.factor === 1) return `it restarts after ${first}`;
	return `it restarts after ${first}, and later with each failure, up to ${renderTook(delay.max_ms)}`;
}

/** By the action of the policy. */
const DID: Readonly<Record<string, string>> = {
	restart: "Restarted",
	park: "Waited for the limit",
	halt: "Halted: no more restarts",
	stop: "Left stopped",
	complete: "Nothing: its work is done",
	ask_operator: "Asked you",
	none: "Nothing: it does not count as a failure",
};

/** The reaction of Reeve to an exit, without the reason that the exit already has. */
export function reactionOf({ decision, exit }: Pick<RunJson, "decision" | "exit">): string {
	if (decision === null) return "";
	const { action, delay_ms: delay, reason } = decision;
	const done = DID[action] ?? sentence(action.replaceAll("_", " "));
	const after = delay === null ? "" : afterWords(action, delay);
	return reason === "" || reason === exit?.reason
		? `${done}${after}`
		: `${done}${after}. ${sentence(visibleLine(reason))}`;
}

function afterWords(action: string, delay: number): string {
	// It may have been resumed earlier.
	if (action === "park") return `, at most ${renderTook(delay)}`;
	return delay < 1_000 ? " immediately" : ` after ${renderTook(delay)}`;
}
