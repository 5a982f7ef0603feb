/**
 * A host with one daemon on it, in memory and on a manual clock. The daemon can be killed
 * at any moment: from then on, unfinished operations have no effect, as with a real `kill -9`.
 */

import { loadPlan } from "../../src/config/load.js";
import { parseFleet } from "../../src/config/parse-fleet.js";
import type { FleetSpec } from "../../src/config/spec.js";
import { Engine } from "../../src/engine/engine.js";
import type { FileNews } from "../../src/engine/file-watches.js";
import { watchReadiness } from "../../src/engine/runs/readiness.js";
import type { TaskLog } from "../../src/engine/tasks/tasks-world.js";
import type { Backend } from "../../src/ports/backend.js";
import type { Calendar, Clock } from "../../src/ports/clock.js";
import type { AgentEnv, EnvVault } from "../../src/ports/env-vault.js";
import type { Executor } from "../../src/ports/executor.js";
import type { Store } from "../../src/ports/store.js";
import { headlessFor } from "../../src/sessions/headless.js";
import { createManualClock, type ManualClock } from "../../src/testing/manual-clock.js";
import { createScriptedBackend, type ScriptedBackend } from "../../src/testing/scripted-backend.js";
import { createMemoryStore, type MemoryStore } from "../support/memory-store.js";
import { mortal } from "./mortal.js";
import { createScriptedLeases, type ScriptedLeases } from "./scripted-leases.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

export const NO_TASK_LOG: TaskLog = {
	attemptFailed: () => {},
	attemptLeft: () => {},
	failed: () => {},
};

export interface DaemonWorld<S extends Store = MemoryStore> {
	readonly clock: ManualClock;
	readonly backend: ScriptedBackend;
	readonly store: S;
	/** The daemon that is alive. */
	engine: Engine;
	/** Why the health check of an agent fails; without an entry it succeeds. */
	readonly healthErrors: Map<string, string>;
	/** Of agents with `placement`. */
	readonly leases: ScriptedLeases;
	/** The watched files of each agent whose files are watched now. */
	readonly watchedFiles: Map<string, FileNews & { readonly paths: readonly string[] }>;
	/** Why the environments of agents cannot be stored; null if they can. */
	vaultError: Error | null;
	/** Failures without a waiting caller. */
	readonly errors: unknown[];
	/** Lets time pass, in small steps, so that the consequences of one moment are complete before the next. */
	pass(ms: number): Promise<void>;
	/** Waits until everything has settled. No time passes. */
	settle(): Promise<void>;
	/** `kill -9`, then, after a while, the next daemon. */
	killAndRestart(awayMs?: number): Promise<void>;
}

export function createDaemonWorld(
	random: () => number = () => 0,
	executor: Executor = createNoExecutor(),
	sessions: ScriptedSessions = createScriptedSessions(),
	schedule?: Clock["schedule"],
): Promise<DaemonWorld> {
	return createDaemonWorldOn(createMemoryStore(), random, executor, sessions, schedule);
}

export async function createDaemonWorldOn<S extends Store>(
	store: S,
	random: () => number = () => 0,
	executor: Executor = createNoExecutor(),
	sessions: ScriptedSessions = createScriptedSessions(),
	/** A second clock for the timers of the engine; each fires when the first of the two is due. */
	schedule: Clock["schedule"] = () => () => {},
): Promise<DaemonWorld<S>> {
	const clock = createManualClock({ steadyMs: 0, wallMs: 1_700_000_000_000 });
	const backend = createScriptedBackend({ clock });
	const vault = createMemoryVault(() => world.vaultError);
	const errors: unknown[] = [];
	const leases = createScriptedLeases();
	let runs = 0;
	let kill = () => {};

	function start(): Engine {
		const life = { alive: true };
		kill = () => {
			life.alive = false;
		};
		const own = backend.reconnect();
		const mortalClock = {
			now: clock.now,
			schedule: (ms: number, task: () => void) => {
				const end = () => {
					cancelFirst();
					cancelSecond();
				};
				const fire = () => {
					end();
					if (life.alive) task();
				};
				const cancelFirst = clock.schedule(ms, fire);
				const cancelSecond = schedule(ms, fire);
				return end;
			},
		};
		const engine = new Engine({
			secrets: { learn: async () => {}, redact: (text) => text },
			store: mortal(store as Store, life),
			clock: mortalClock,
			vault: mortal(vault, life),
			backends: {
				choose: () => ({ name: own.name, refused: null }),
				get: () => mortal(own as Backend, life),
			},
			random,
			executor: mortal(executor, life),
			adapterFor: headlessFor,
			newRunId: () => `run-${++runs}`,
			watchReady: (spec, { upMs }, onReady) => {
				const ready = spec.kind === "call" ? null : spec.ready;
				return watchReadiness(ready, upMs, mortalClock, NO_PROBES, onReady);
			},
			checkHealth: async (spec) => world.healthErrors.get(spec.id) ?? null,
			watchFiles: ({ id }, paths, { onChange, onProblem }) => {
				const news = {
					paths,
					onChange: (file: string) => life.alive && onChange(file),
					onProblem: (reason: string) => life.alive && onProblem(reason),
				};
				world.watchedFiles.set(id, news);
				const close = () => {
					if (world.watchedFiles.get(id) === news) world.watchedFiles.delete(id);
				};
				return { folders: () => paths.length, problem: () => null, close };
			},
			sessions: mortal(sessions, life, ["adapterOf", "readReset"]),
			calendar: CALENDAR,
			leases,
			timezone: "UTC",
			readPlan: (file) => loadPlan(file),
			concurrency: { call: 16, worker: 16 },
			log: NO_TASK_LOG,
			onError: (agent, error) => errors.push(`${agent}: ${String(error)}`),
		});
		own.onExit((exit) => life.alive && engine.exited(exit));
		return engine;
	}

	const world: DaemonWorld<S> = {
		...{ clock, backend, store, errors, leases, healthErrors: new Map<string, string>() },
		watchedFiles: new Map(),
		vaultError: null,
		engine: start(),
		async settle() {
			// Everything here is promises; a few iterations of the event loop are enough for the longest chain.
			for (let turn = 0; turn < 12; turn++) await new Promise(setImmediate);
		},
		async pass(ms) {
			const step = Math.max(250, ms / 40);
			for (let left = ms; left > 0; left -= step) {
				clock.advance(Math.min(step, left));
				await world.settle();
			}
			await world.settle();
		},
		async killAndRestart(awayMs = 0) {
			kill();
			await world.settle();
			clock.advance(awayMs);
			world.engine = start();
			await world.engine.recover();
			await world.settle();
		},
	};
	await world.engine.recover();
	return world;
}

/** Sessions need none. */
function createNoExecutor(): Executor {
	const refuse = () => Promise.reject(new Error("no programs are run here"));
	return { call: refuse, startWorker: refuse, endLeft: async () => [], close: async () => {} };
}

const DAY_MS = 86_400_000;

/** The calendar of a host in UTC. */
const CALENDAR: Calendar = {
	dayOf(wallMs) {
		const beganMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
		return { day: new Date(wallMs).toISOString().slice(0, 10), endsAtMs: beganMs + DAY_MS };
	},
	minuteOfDay: (wallMs) => Math.floor(wallMs / 60_000) % 1_440,
};

const NO_PROBES = {
	logMatches: async () => false,
	portListens: async () => false,
	httpAnswers: async () => false,
	commandSucceeds: async () => false,
};

function createMemoryVault(failure: () => Error | null): EnvVault {
	let envs: Readonly<Record<string, AgentEnv>> = {};
	return {
		read: async () => envs,
		update: async (changes) => {
			const error = failure();
			if (error !== null) throw error;
			const next = Object.entries({ ...envs, ...structuredClone(changes) });
			envs = Object.fromEntries(next.flatMap(([id, env]) => (env === null ? [] : [[id, env]])));
		},
	};
}

/** A fleet of one project `p`, from the lines under `agents:`. */
export function fleetOf(agents: string, file = "reeve.yaml", project = "p"): FleetSpec {
	const indented = agents.trim().replace(/^/gm, "      ");
	const text = `version: 1\nprojects:\n  ${project}:\n    agents:\n${indented}\n`;
	const parsed = parseFleet(text, file, { env: {}, homeDir: "/", baseDir: "/" });
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet;
}
