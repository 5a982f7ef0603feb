/**
 * The daemon: the only place that constructs IO. Takes the lock of its home, opens the store, takes up
 * the agents that an earlier daemon left, and serves until it is told to end. Agents run on.
 */

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { resolveHome } from "../client/home.js";
import { readVersion } from "../client/version.js";
import { Calls } from "../engine/calls/calls.js";
import { DEFAULT_CONCURRENCY } from "../engine/calls/calls-world.js";
import { Engine } from "../engine/engine.js";
import { watchReadiness } from "../engine/readiness.js";
import { createSignal } from "../engine/waiting.js";
import { createExecutor } from "../executor/executor.js";
import { describeLimits, type LimitSupport } from "../host/cgroup.js";
import { createIds } from "../host/ordered-id.js";
import { createFailureLimit } from "../http/auth/failure-limit.js";
import { createGate, type Refusal } from "../http/auth/gate.js";
import { createLoginLinks } from "../http/auth/login-links.js";
import { openTokens } from "../http/auth/tokens.js";
import type { DaemonJson } from "../http/contract/daemon.js";
import { createApi } from "../http/server.js";
import type { Executor } from "../ports/executor.js";
import type { NewEvent, Store, StoreHealth } from "../ports/store.js";
import { realClock } from "../services/real-clock.js";
import { type Service, type Supervisor, supervise } from "../services/supervise.js";
import { openStore } from "../store/sqlite/open-store.js";
import { createFileVault } from "../store/vault/file-vault.js";
import { type Backends, createBackends } from "./backends.js";
import { headlessFor } from "./headless.js";
import { historyService, readRetention } from "./history-service.js";
import { prepareHome } from "./home-dir.js";
import { aborted, type NetworkState, networkService, socketService } from "./http-services.js";
import { createLogger } from "./logger.js";
import { notifierService } from "./notifier-service.js";
import { logDirOf, prepareStart } from "./prepare-start.js";
import { createProbes } from "./probes.js";
import { createSessionWorld } from "./session-world.js";
import { takeHome } from "./take-home.js";
import { createTokenFiles } from "./token-files.js";
import { watchHealth } from "./watch-health.js";

/** How long attempts may go on when the daemon ends; the next one takes up what is left. */
const CALLS_GRACE_MS = 5_000;

const newOrderedId = createIds();
const home = resolveHome(process.env);
const logger = createLogger((line) => process.stderr.write(line));
process.exitCode = await main().catch((error: unknown) => {
	logger.error("the daemon could not start", error);
	return 1;
});
// Timers and sockets of others must not keep a daemon that has ended.
process.exit();

async function main(): Promise<number> {
	const retention = readRetention(process.env);
	await prepareHome(home);
	const taken = await takeHome(home);
	if (taken.outcome === "failed") throw new Error(taken.reason);
	if (taken.outcome === "served") {
		logger.info("another daemon has this home", { home: home.dir, pid: taken.pid });
		return 0;
	}
	const opened = await openStore(home.database);
	if (!opened.ok) throw new Error(`${opened.reason} ${opened.hint}`);
	const { store } = opened;
	const note = (event: NewEvent) =>
		store.commit((transaction) => transaction.appendEvent(event, Date.now()));
	const backends = createBackends(home.runtime);
	const executor = createExecutor({
		owner: ownerOf(home.dir),
		onTrouble: (message) => logger.info(message),
	});
	const engine = createEngine(store, backends, executor);
	backends.onExit((exit) => engine.exited(exit));
	const calls = createCalls(store, engine, executor);

	const startedAt = new Date().toISOString();
	const identity = { version: readVersion(), startedAt, limits: renderLimits(describeLimits()) };
	const network: NetworkState = { listen: null, url: null, problem: null };
	const status = () => renderStatus(identity, supervisor.status(), store.health(), network);
	const recovered = createSignal<void>();
	const taking = createSignal<void>();
	const api = createApi({
		...{ engine, calls, store, clock: realClock, host: hostname() },
		...{ version: identity.version, status },
		...(await createAuth((refusal) => {
			void note({ type: "operator.refused", data: refusal }).catch(() => {});
		})),
		shutDown: () => setImmediate(() => supervisor.stop()),
		logDirOf: (id) => logDirOf(home.logs, id),
		onError: (error, { correlationId }) =>
			logger.error("a request failed", error, { correlation_id: correlationId }),
	});
	const services = [
		engineService(engine, recovered.resolve),
		dispatcherService(recovered.promise, calls, taking.resolve),
		socketService(api, home, taking.promise),
		networkService(api, home, taking.promise, network),
		notifierService(store, home, (error) => logger.error("nobody could be told", error)),
		historyService(store, retention, logger),
	];
	const supervisor = supervise(services, {
		onEnd({ service, action, reason }) {
			logger.info(reason, { service, action });
			void note({ type: "service.ended", data: { service, action, reason } }).catch(() => {});
		},
	});
	const { version } = identity;
	// Not waited for: a full disk must neither keep the daemon from serving nor from ending.
	void note({ type: "daemon.started", data: { version, pid: process.pid } }).catch(() => {});
	logger.info("started", { version, pid: process.pid, home: home.dir });
	stopOnSignals(supervisor);
	const stopWatching = watchHealth(store, logger);

	const { exitCode, reason, failedToStop } = await supervisor.ended;
	stopWatching();
	logger.info("stopping", { exitCode, reason, failed_to_stop: failedToStop });
	await executor.close();
	await backends.close();
	await rm(home.socket, { force: true });
	void note({ type: "daemon.stopping", data: { reason } }).catch(() => {});
	await store.close();
	return exitCode;
}

function createEngine(store: Store, backends: Backends, executor: Executor): Engine {
	const onTrouble = (message: string) => logger.info(message);
	return new Engine({
		...{ store, clock: realClock, vault: createFileVault(home.vault), executor },
		adapterFor: headlessFor,
		chooseBackend: (spec) => backends.get(backends.choose(spec).name),
		backendNamed: backends.get,
		random: Math.random,
		newRunId: newOrderedId,
		async prepare(spec, intent) {
			const { refused } = backends.choose(spec);
			if (refused !== null) return { ok: false, detail: refused };
			return prepareStart(spec, intent, { inherited: process.env, home, onTrouble });
		},
		sessions: createSessionWorld(home, process.env),
		watchReady: (spec, onReady) => {
			const ready = spec.kind === "call" ? null : spec.ready;
			const probes = createProbes(spec, logDirOf(home.logs, spec.id));
			return watchReadiness(ready, realClock, probes, onReady);
		},
		onError: (agent, error) => logger.error("failed", error, { agent }),
	});
}

async function createAuth(onRefusal: (refusal: Refusal) => void) {
	const wallMs = () => realClock.now().wallMs;
	const tokens = await openTokens(createTokenFiles(home), wallMs);
	const limit = createFailureLimit(() => realClock.now().steadyMs);
	const gate = createGate(tokens, limit, process.getuid?.() ?? 0, onRefusal);
	return { tokens, gate, links: createLoginLinks(wallMs) };
}

/** A name of its own for every home on this host. */
function ownerOf(folder: string): string {
	return `calls-${createHash("sha256").update(folder).digest("hex").slice(0, 12)}`;
}

function createCalls(store: Store, engine: Engine, executor: Executor): Calls {
	return new Calls({
		...{ store, clock: realClock, random: Math.random, newId: newOrderedId },
		specOf: (id) => engine.specOf(id),
		perform: (order, signal) => engine.perform(order, signal),
		async endLeft(runIds) {
			const left = await executor.endLeft(runIds);
			for (const { runId, reason } of left) {
				logger.error("something of an earlier attempt is left", reason, { run_id: runId });
			}
			return left;
		},
		concurrency: DEFAULT_CONCURRENCY,
		log: (message, data) => logger.info(message, data),
		onError: (about, error) => logger.error("failed", error, { about }),
	});
}

/** Without the dispatcher, what was taken on would never end. */
function dispatcherService(recovered: Promise<void>, calls: Calls, ready: () => void): Service {
	return {
		name: "dispatcher",
		policy: "critical",
		async run(signal, isReady) {
			await Promise.race([recovered, aborted(signal)]);
			if (!signal.aborted) await calls.recover();
			ready();
			isReady();
			await aborted(signal);
			await calls.close(CALLS_GRACE_MS);
		},
	};
}

/** Without the engine there is nothing to serve, so its end is the daemon's. */
function engineService(engine: Engine, recovered: () => void): Service {
	return {
		name: "engine",
		policy: "critical",
		async run(signal, ready) {
			await engine.recover();
			recovered();
			ready();
			await aborted(signal);
			engine.close();
		},
	};
}

function renderStatus(
	{ version, startedAt, limits }: Pick<DaemonJson, "version" | "limits"> & { startedAt: string },
	services: ReturnType<Supervisor["status"]>,
	health: StoreHealth,
	network: NetworkState,
): DaemonJson {
	const obstacles = [
		...services.filter((each) => !each.ready).map((each) => `${each.name} is not ready`),
		...(health.ok ? [] : [`nothing can be stored: ${health.reason}`]),
	];
	// Who cannot listen can still supervise.
	const problems = [...obstacles, ...(network.problem === null ? [] : [network.problem])];
	return {
		...{ running: true, pid: process.pid, version, home: home.dir, socket: home.socket },
		...{ listen: network.listen, url: network.url, started_at: startedAt },
		...{ ready: obstacles.length === 0, problems },
		services: services.map(({ name, policy, status: state, restarts }) => ({
			...{ name, policy, state, restarts },
		})),
		limits,
	};
}

function renderLimits(support: readonly LimitSupport[]): DaemonJson["limits"] {
	return support.flatMap(({ name, available, reason, instead, perProcess }) => {
		if (name === "tracking") return [];
		const enforced = available ? "tree" : perProcess ? "process" : "no";
		return [{ limit: name, enforced, detail: [reason, instead ?? []].flat().join("; ") }];
	});
}

function stopOnSignals(supervisor: Supervisor): void {
	let asked = false;
	const stop = () => {
		// The second time means now.
		if (asked) process.exit(1);
		asked = true;
		supervisor.stop();
	};
	process.on("SIGTERM", stop);
	process.on("SIGINT", stop);
	// A terminal that closes is no reason to end.
	process.on("SIGHUP", () => {});
}
