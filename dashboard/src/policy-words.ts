/** Describes the crash policy of an agent. */

import type { AgentDetailJson } from "../../src/http/contract/agents.js";
import { countOf, renderTook } from "./format.js";

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
