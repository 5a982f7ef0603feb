/** Handlers of agents. */

import { createHash } from "node:crypto";
import { renderAgent, renderStoredExit } from "../agent-json.js";
import type { Sight } from "../auth/gate.js";
import type { AgentDetailJson, AgentJson, agentRoutes } from "../contract/agents.js";
import type { Routes } from "../contract/routes.js";
import type { Handlers, HttpParts } from "../handler.js";
import { PreparedJson } from "../replies.js";
import { renderRestarted, renderStarted, renderStopped } from "./render-outcome.js";

const OUTPUT_LINES = 10;
const OUTPUT_LINE_LENGTH_MAX = 500;
const EXITS_SHOWN = 20;

export function createAgentHandlers(parts: HttpParts): Handlers<keyof typeof agentRoutes> {
	const { engine, calls } = parts;
	const list = createAgentsList(parts);
	return {
		"GET /api/v1/agents": ({ query, sight }) => list(query, sight),
		"GET /api/v1/agents/:id": ({ params }) => describeAgent(parts, params.id),
		"POST /api/v1/agents/:scope/up": async ({ params }) => ({
			agents: (await engine.upRecorded(params.scope)).map((each) => renderStarted(engine, each)),
		}),
		"POST /api/v1/agents/:scope/down": async ({ params, body }) => ({
			agents: (await engine.down(params.scope, body.timeout_ms)).map(renderStopped),
		}),
		"POST /api/v1/agents/:scope/restart": async ({ params, body }) => {
			const options = { fresh: body.fresh, timeoutMs: body.timeout_ms };
			const agents = await engine.restart(params.scope, options);
			return { agents: agents.map((each) => renderRestarted(engine, each)) };
		},
		"POST /api/v1/agents/:id/resume": async ({ params: { id } }) => {
			const { outcome, ...resumed } = await engine.resume(id);
			return { ...resumed, outcome, circuit_from: await calls.closeCircuit(id) };
		},
		"POST /api/v1/agents/:id/answer": async ({ params, body }) => ({
			outcome: await engine.answer(params.id, body.answer),
		}),
		"POST /api/v1/agents/:id/send": async ({ params: { id }, body }) => {
			const message = await engine.terminals.send(id, body.text, body.submit);
			const bytes = Buffer.byteLength(body.text);
			if (message === null) return { bytes, message };
			const { process, agent } = engine.get(id);
			return { bytes, message, process, desired: agent.desired };
		},
		"GET /api/v1/agents/:id/screen": async ({ params }) => ({
			text: await engine.terminals.screen(params.id),
		}),
	};
}

async function describeAgent(parts: HttpParts, id: string): Promise<AgentDetailJson> {
	const { engine, calls, store, clock, host, logDirOf } = parts;
	const view = engine.get(id);
	const { spec, crash } = view.agent;
	const environment = await parts.describeEnvironment(spec);
	return {
		...renderAgent(view, calls.circuit(id), { host, nowMs: clock.now().wallMs }),
		exits: store.readExits(id, EXITS_SHOWN).map(renderStoredExit),
		crash: {
			state: crash,
			settings: spec.kind === "call" ? null : spec.crashPolicy,
			on_clean_exit: spec.kind === "session" ? spec.onCleanExit : "restart",
		},
		log_dir: logDirOf(id),
		last_output: lastLines(await engine.lastOutput(id)),
		depends_on: spec.kind === "call" ? [] : spec.dependsOn,
		environment,
	};
}

function lastLines(text: string): readonly string[] {
	const lines = text.split("\n").filter((line) => line.trim() !== "");
	return lines.slice(-OUTPUT_LINES).map((line) => line.slice(0, OUTPUT_LINE_LENGTH_MAX));
}

/*
 * The list of all agents, the most frequent request. It is serialized at most once per event and tenth
 * of a second, however many clients ask: a response is never older than the last commit, and
 * uncommitted values (running times) are at most that old.
 */

type Query = Routes["GET /api/v1/agents"]["query"];
type Reply = Routes["GET /api/v1/agents"]["reply"];

const KEPT_MS = 100;
const UPTIME = /"uptime_ms":\d+/g;

function createAgentsList(
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
