/** What each request does: one function per route of the contract, and nothing that decides. */

import type { FleetSpec } from "../config/spec.js";
import { ReeveError } from "../core/errors.js";
import type { Engine } from "../engine/engine.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";
import { renderAgent, renderStoredExit } from "./agent-json.js";
import type { DaemonJson, RouteName, Routes, StoppedJson } from "./contract.js";

export interface HttpParts {
	readonly engine: Engine;
	readonly store: Store;
	readonly clock: Clock;
	readonly host: string;
	readonly status: () => DaemonJson;
	/** Ends the daemon after the answer is sent. */
	readonly shutDown: () => void;
	readonly logDirOf: (agentId: string) => string;
}

type Handlers = {
	readonly [Name in RouteName]: (
		place: string,
		body: Routes[Name]["body"],
	) => Routes[Name]["reply"] | Promise<Routes[Name]["reply"]>;
};

const EXITS_SHOWN = 20;

export function createHandlers(parts: HttpParts): Handlers {
	const { engine, store, clock, host, status } = parts;
	const now = () => ({ host, nowMs: clock.now().wallMs });
	const down = async (scope: string, timeoutMs: number | undefined) =>
		(await engine.down(scope, timeoutMs)).map(renderStopped);
	return {
		"GET /health": () => ({ status: "ok" }),
		"GET /ready": () => ({ ready: status().ready, problems: status().problems }),
		"GET /api/v1/daemon": () => status(),
		"POST /api/v1/daemon/stop": async (_, { all }) => {
			const stopped = all ? await down("*", undefined) : [];
			parts.shutDown();
			return { stopped };
		},
		"GET /api/v1/agents": () => ({ agents: engine.list().map((view) => renderAgent(view, now())) }),
		"GET /api/v1/agents/:id": (id) => {
			const view = engine.get(id);
			const { spec, crash } = view.agent;
			return {
				...renderAgent(view, now()),
				exits: store.readExits(id, EXITS_SHOWN).map(renderStoredExit),
				crash: {
					state: crash,
					settings: spec.kind === "call" ? null : spec.crashPolicy,
					on_clean_exit: spec.kind === "session" ? spec.onCleanExit : "restart",
				},
				log_dir: parts.logDirOf(id),
				depends_on: spec.kind === "call" ? [] : spec.dependsOn,
			};
		},
		"POST /api/v1/fleet/up": async (_, { fleet, scope }) => {
			const started = await engine.up(checkFleet(fleet), scope);
			return {
				agents: started.map(({ id, outcome }) => ({
					...{ id, outcome },
					reason: engine.get(id).agent.reason,
				})),
			};
		},
		"POST /api/v1/fleet/reload": async (_, { fleet, dry_run: dryRun }) => {
			const spec = checkFleet(fleet);
			const changes = dryRun
				? engine.plan(spec).map((change) => ({ ...change, stopped: null }))
				: await engine.reload(spec);
			return {
				changes: changes.map(({ id, change, keys, stopped }) => ({
					...{ id, change, keys },
					outcome: stopped?.outcome ?? null,
					duration_ms: stopped?.durationMs ?? null,
				})),
			};
		},
		"POST /api/v1/agents/:scope/down": async (scope, body) => ({
			agents: await down(scope, body.timeout_ms),
		}),
		"POST /api/v1/agents/:scope/restart": async (scope, { fresh, timeout_ms: timeoutMs }) => ({
			agents: (await engine.restart(scope, { fresh, timeoutMs })).map(renderStopped),
		}),
		"POST /api/v1/agents/:id/resume": (id) => engine.resume(id),
		"POST /api/v1/agents/:id/answer": async (id, { answer }) => ({
			outcome: await engine.answer(id, answer),
		}),
		"POST /api/v1/agents/:id/send": async (id, { text, submit }) => {
			const bytes = Buffer.from(text, "utf8");
			await engine.input(id, bytes);
			// Enter goes as a key of its own: typed together with a text, some CLIs take it for a line break.
			if (submit) {
				await new Promise((resolve) => clock.schedule(SUBMIT_AFTER_MS, () => resolve(null)));
				await engine.input(id, Buffer.from("\r"));
			}
			return { bytes: bytes.length };
		},
		"GET /api/v1/agents/:id/screen": async (id) => ({ text: await engine.screen(id) }),
	};
}

const SUBMIT_AFTER_MS = 300;

function renderStopped(stopped: Awaited<ReturnType<Engine["down"]>>[number]): StoppedJson {
	const { id, outcome, durationMs, reason } = stopped;
	return { id, outcome, duration_ms: durationMs, reason };
}

/** A fleet is checked where its file is read; here only that it is one at all. */
function checkFleet(fleet: unknown): FleetSpec {
	const { file, agents } = (fleet ?? {}) as Partial<FleetSpec>;
	if (typeof file === "string" && Array.isArray(agents)) return fleet as FleetSpec;
	throw new ReeveError("validation_failed", "the body holds no fleet");
}
