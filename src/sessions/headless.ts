/** Which agent CLIs can be called without a terminal, and their adapters. */

import { claudeHeadless } from "../adapters/claude/headless.js";
import { codexHeadless } from "../adapters/codex/headless.js";
import { geminiHeadless } from "../adapters/gemini/headless.js";
import { opencodeHeadless } from "../adapters/opencode/headless.js";
import { piHeadless } from "../adapters/pi/headless.js";
import type { AgentSpec } from "../config/spec.js";
import type { HeadlessCli } from "../core/states.js";
import type { CallAdapter } from "../ports/executor.js";

const HEADLESS: Readonly<Record<HeadlessCli, CallAdapter>> = {
	claude: claudeHeadless,
	codex: codexHeadless,
	gemini: geminiHeadless,
	opencode: opencodeHeadless,
	pi: piHeadless,
};

/** Null for an agent that speaks the protocol itself. */
export function headlessFor({ adapter }: Pick<AgentSpec, "adapter">): CallAdapter | null {
	return Object.hasOwn(HEADLESS, adapter) ? HEADLESS[adapter as HeadlessCli] : null;
}
