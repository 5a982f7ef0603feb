/** Which adapter an agent has: a built-in one, or one that its fleet file describes. */

import { acp } from "../adapters/acp.js";
import { aider } from "../adapters/aider.js";
import { claude } from "../adapters/claude.js";
import { codex } from "../adapters/codex.js";
import { gemini } from "../adapters/gemini.js";
import { generic } from "../adapters/generic.js";
import { opencode } from "../adapters/opencode.js";
import { pi } from "../adapters/pi.js";
import type { AgentSpec } from "../config/spec.js";
import type { Adapter } from "../core/states.js";
import type { AgentAdapter } from "../ports/adapter.js";
import { described } from "./described.js";

const BUILT_IN: Readonly<Record<Adapter, AgentAdapter>> = {
	claude,
	codex,
	gemini,
	opencode,
	pi: described(pi),
	aider,
	acp,
	generic,
};

export function adapterOf({
	adapter,
	profile,
}: Pick<AgentSpec, "adapter" | "profile">): AgentAdapter {
	if (profile) return described({ name: adapter, profile });
	// A name that this version does not know any more is any program.
	return Object.hasOwn(BUILT_IN, adapter) ? BUILT_IN[adapter as Adapter] : generic;
}
