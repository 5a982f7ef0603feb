/** An adapter that is data alone, and says by rules what its records mean: the fleet file's own, and built-in ones of which that is enough. */

import { readByRules } from "../core/sign-rule.js";
import { SERVICE_TEXTS } from "../core/turn-failure.js";
import type { AgentAdapter } from "../ports/adapter.js";

export function described(adapter: Pick<AgentAdapter, "name" | "profile" | "usage">): AgentAdapter {
	// A profile that an older daemon has pinned has no rules.
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
