/** Selects the adapter of an agent: a built-in one, or a custom one of its fleet file. */

import { acp } from "../adapters/acp.js";
import { aider } from "../adapters/aider.js";
import { claude } from "../adapters/claude.js";
import { codex } from "../adapters/codex.js";
import { gemini } from "../adapters/gemini.js";
import { generic } from "../adapters/generic.js";
import { opencode } from "../adapters/opencode.js";
import { pi } from "../adapters/pi.js";
import type { AgentSpec } from "../config/spec.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
import { readByRules } from "../core/sign-rule.js";
import type { Adapter } from "../core/states.js";
import type { AgentAdapter } from "../ports/adapter.js";

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
	// A name that this version does not know is treated as `generic`.
	return Object.hasOwn(BUILT_IN, adapter) ? BUILT_IN[adapter as Adapter] : generic;
}

export function described(adapter: Pick<AgentAdapter, "name" | "profile" | "usage">): AgentAdapter {
	// A profile stored by an older daemon has no rules.
	const { eventRules = [], lineRules = [], log, exits } = adapter.profile;
	const logRules = log?.rules ?? [];
	const texts = exits?.texts ?? SERVICE_TEXTS;
	return {
		...adapter,
		...(eventRules.length === 0
			? {}
			: {
					readRecord: (event, data, reader) =>
						readByRules(
							eventRules.filter((rule) => rule.event === event),
							data,
							{ ...reader, texts },
						),
				}),
		...(lineRules.length === 0
			? {}
			: { readTranscript: (line, reader) => readByRules(lineRules, line, { ...reader, texts }) }),
		...(logRules.length === 0
			? {}
			: { readLog: (record, reader) => readByRules(logRules, record, { ...reader, texts }) }),
	};
}
