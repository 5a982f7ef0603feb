/** Handlers of agents. */

import { createHash } from "node:crypto";
import { ReeveError } from "../../core/errors.js";
import { toSnakeKeys } from "../../core/key-case.js";
import type { AgentView } from "../../engine/agent-view.js";
import { dependenciesOf } from "../../engine/scope.js";
import { renderAgent, renderStoredExit } from "../agent-json.js";
import type { Visibility } from "../auth/gate.js";
import type { AgentDetailJson, AgentJson, agentRoutes } from "../contract/agents.js";
import type { Routes } from "../contract/routes.js";
import type { Handlers, HttpParts } from "../handler.js";
import type { Keyboards } from "../keyboards.js";
import type { LiveResources } from "../live-resources.js";
import { PreparedJson } from "../replies.js";
import { renderRestarted, renderStarted, renderStopped } from "./render-outcome.js";

const OUTPUT_LINES = 10;
const OUTPUT_LINE_LENGTH_MAX = 500;
const EXITS_SHOWN = 20;

export function createAgentHandlers(
	parts: HttpParts,
	resources: Pick<LiveResources, "of">,
	keyboards: Pick<Keyboards, "holderOf">,
): Handlers<keyof typeof agentRoutes> {
	const { engine } = parts;
	const list = createAgentsList(parts, resources);
	return {
		"GET /api/v1/agents": ({ query, sight }) => list(query, sight),
		"GET /api/v1/agents/:id": async ({ params: { id } }) => ({
			...(await describeAgent(parts, id, resources)),
			keyboard: keyboards.holderOf(id),
		}),
		"GET /api/v1/agents/:id/config": ({ params }) =>
			parts.describeConfig(engine.get(params.id).agent),
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
			return { ...resumed, outcome, circuit_from: await engine.taskDesk.closeCircuit(id) };
		},
		"POST /api/v1/agents/:id/answer": async ({ params, body }) => ({
			outcome: await engine.answer(params.id, body.answer),
		}),
	};
}

async function describeAgent(
	parts: HttpParts,
	id: string,
	resources: Pick<LiveResources, "of">,
): Promise<Omit<AgentDetailJson, "keyboard">> {
	const { engine, store, clock, host, logDirOf } = parts;
	const view = engine.get(id);
	const { spec, crash } = view.agent;
	const environment = await parts.describeEnvironment(spec);
	return {
		...renderAgent(view, engine.taskDesk.views()(id), {
			host,
			nowMs: clock.now().wallMs,
			resources: resources.of(id),
		}),
		exits: store.readExits(id, EXITS_SHOWN).map(renderStoredExit),
		crash: {
			state: toSnakeKeys(crash),
			settings: spec.kind === "call" ? null : toSnakeKeys(spec.crashPolicy),
			on_clean_exit: spec.kind === "session" ? spec.onCleanExit : "restart",
		},
		log_dir: logDirOf(id),
		last_output: lastLines(await engine.lastOutput(id)),
		depends_on: dependenciesOf(spec).map(({ agent, condition }) =>
			condition === "ready" ? agent : `${agent} (${condition})`,
		),
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
const UNTAGGED = /"uptime_ms":\d+|"seq":\d+\}\n$/g;

function createAgentsList(
	parts: Pick<HttpParts, "engine" | "clock" | "store" | "host">,
	resources: Pick<LiveResources, "of">,
): (query: Query, sight: Visibility | null) => Reply | PreparedJson {
	const { engine, clock, store, host } = parts;
	let kept: { readonly seq: number; readonly atMs: number; readonly json: PreparedJson } | null =
		null;

	function render(views: readonly AgentView[]): readonly AgentJson[] {
		const nowMs = clock.now().wallMs;
		const viewOf = engine.taskDesk.views();
		return views.map((view) => {
			const { id } = view.agent;
			return renderAgent(view, viewOf(id), { host, nowMs, resources: resources.of(id) });
		});
	}

	const all = () => render(engine.list());

	/** Unknown ids are left out: the agent may have been removed in the meantime. */
	const named = (ids: string) =>
		render([...new Set(ids.split(","))].flatMap((id) => viewsOf(engine, id)));

	return (query, sight) => {
		const { limit, after, ids, ...wanted } = query;
		const filters = Object.entries(wanted) as [keyof AgentJson, string][];
		const [seq, atMs] = [store.lastSeq(), clock.now().steadyMs];
		if (sight !== null || Object.keys(query).length > 0) {
			const found = (ids === undefined ? all() : named(ids)).filter(
				(agent) =>
					(sight?.sees(agent.id) ?? true) && filters.every(([key, value]) => agent[key] === value),
			);
			return { ...pageOf(found, limit, after), seq };
		}
		if (kept === null || kept.seq !== seq || atMs - kept.atMs >= KEPT_MS) {
			kept = { seq, atMs, json: prepare(all(), seq) };
		}
		return kept.json;
	};
}

function viewsOf(engine: HttpParts["engine"], id: string): readonly AgentView[] {
	try {
		return [engine.get(id)];
	} catch (error) {
		if (error instanceof ReeveError && error.code === "agent_not_found") return [];
		throw error;
	}
}

/**
 * In the order of the list; an agent that was removed in between ends the paging early, without
 * repetitions.
 */
function pageOf(
	agents: readonly AgentJson[],
	limit: number | undefined,
	after: string | undefined,
): Omit<Reply, "seq"> {
	const start = after === undefined ? 0 : agents.findIndex(({ id }) => id === after) + 1;
	const rest = after !== undefined && start === 0 ? [] : agents.slice(start);
	if (limit === undefined) return { agents: rest };
	const page = rest.slice(0, limit);
	return { agents: page, next: rest.length > limit ? (page.at(-1)?.id ?? null) : null };
}

/** The tag ignores running times and the number of the last event, which are not changes. */
function prepare(agents: readonly AgentJson[], seq: number): PreparedJson {
	const text = `${JSON.stringify({ agents, seq })}\n`;
	const hash = createHash("sha1");
	let at = 0;
	for (const { index, 0: match } of text.matchAll(UNTAGGED)) {
		hash.update(text.slice(at, index));
		at = index + match.length;
	}
	hash.update(text.slice(at));
	return new PreparedJson(Buffer.from(text), `W/"${hash.digest("base64url")}"`);
}
