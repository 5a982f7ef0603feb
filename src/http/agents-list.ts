/**
 * The list of all agents, the most frequent request. It is serialized at most once per event and tenth
 * of a second, however many clients ask: a response is never older than the last commit, and
 * uncommitted values (running times) are at most that old.
 */

import { createHash } from "node:crypto";
import { renderAgent } from "./agent-json.js";
import type { Sight } from "./auth/gate.js";
import type { AgentJson } from "./contract/agents.js";
import type { Routes } from "./contract/routes.js";
import type { HttpParts } from "./handler.js";
import { PreparedJson } from "./replies.js";

type Query = Routes["GET /api/v1/agents"]["query"];
type Reply = Routes["GET /api/v1/agents"]["reply"];

const KEPT_MS = 100;
const UPTIME = /"uptime_ms":\d+/g;

export function createAgentsList(
	parts: Pick<HttpParts, "engine" | "calls" | "clock" | "store" | "host">,
): (query: Query, sight: Sight | null) => Reply | PreparedJson {
	const { engine, calls, clock, store, host } = parts;
	let kept: { readonly seq: number; readonly atMs: number; readonly json: PreparedJson } | null =
		null;

	function all(): readonly AgentJson[] {
		const now = { host, nowMs: clock.now().wallMs };
		return engine.list().map((view) => renderAgent(view, calls.circuit(view.agent.id), now));
	}

	return (query, sight) => {
		const { limit, after, ...wanted } = query;
		const filters = Object.entries(wanted) as [keyof AgentJson, string][];
		if (sight !== null || filters.length > 0 || limit !== undefined || after !== undefined) {
			const found = all().filter(
				(agent) =>
					(sight?.sees(agent.id) ?? true) && filters.every(([key, value]) => agent[key] === value),
			);
			return pageOf(found, limit, after);
		}
		const [seq, atMs] = [store.lastSeq(), clock.now().steadyMs];
		if (kept === null || kept.seq !== seq || atMs - kept.atMs >= KEPT_MS) {
			kept = { seq, atMs, json: prepare(all()) };
		}
		return kept.json;
	};
}

/**
 * In the order of the list; an agent that was removed in between ends the paging early, without
 * repetitions.
 */
function pageOf(
	agents: readonly AgentJson[],
	limit: number | undefined,
	after: string | undefined,
): Reply {
	const start = after === undefined ? 0 : agents.findIndex(({ id }) => id === after) + 1;
	const rest = after !== undefined && start === 0 ? [] : agents.slice(start);
	if (limit === undefined) return { agents: rest };
	const page = rest.slice(0, limit);
	return { agents: page, next: rest.length > limit ? (page.at(-1)?.id ?? null) : null };
}

/** The tag ignores running times, which are not changes. */
function prepare(agents: readonly AgentJson[]): PreparedJson {
	const text = `${JSON.stringify({ agents })}\n`;
	const hash = createHash("sha1");
	let at = 0;
	for (const { index, 0: match } of text.matchAll(UPTIME)) {
		hash.update(text.slice(at, index));
		at = index + match.length;
	}
	hash.update(text.slice(at));
	return new PreparedJson(Buffer.from(text), `W/"${hash.digest("base64url")}"`);
}
