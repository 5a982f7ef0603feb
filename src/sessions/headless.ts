/** Which agent CLIs can be called without a terminal, and their adapters. */

import { claudeHeadless } from "../adapters/claude/headless.js";
import { codexHeadless } from "../adapters/codex/headless.js";
import { geminiHeadless } from "../adapters/gemini/headless.js";
import { opencodeHeadless } from "../adapters/opencode/headless.js";
import { piHeadless } from "../adapters/pi/headless.js";
import type { AgentSpec } from "../config/spec.js";
import type { HeadlessCli } from "../core/states.js";
import { offsetOfZone } from "../host/local-calendar.js";
import type { CallAdapter, HeadlessAdapter } from "../ports/executor.js";
import { parseResetTime } from "./reset-time.js";

const HEADLESS: Readonly<Record<HeadlessCli, HeadlessAdapter>> = {
	claude: claudeHeadless,
	codex: codexHeadless,
	gemini: geminiHeadless,
	opencode: opencodeHeadless,
	pi: piHeadless,
};

/** Null for an agent that speaks the protocol itself. */
export function headlessFor({ adapter }: Pick<AgentSpec, "adapter">): CallAdapter | null {
	return Object.hasOwn(HEADLESS, adapter) ? readingTimes(HEADLESS[adapter as HeadlessCli]) : null;
}

/** A CLI prints times in the zone of its own environment if that names one. */
function readingTimes(adapter: HeadlessAdapter): CallAdapter {
	return {
		...adapter,
		parse(request, ended) {
			const { atMs, zone: own } = ended;
			const offsetOf = (zone: string | null, thenMs: number) => offsetOfZone(zone ?? own, thenMs);
			const resetAtMs = (text: string) => parseResetTime(text, atMs, offsetOf);
			return adapter.parse(request, { ...ended, resetAtMs });
		},
	};
}
