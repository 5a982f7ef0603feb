/**
 * The daemon: the only place that constructs IO. Acquires the lock of its home, opens the store, adopts
 * the agents of an earlier daemon, and serves until it is asked to stop. Agents keep running.
 */

import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { createRedactor } from "../core/redact.js";
import { createSignal } from "../engine/waiting.js";
import { createExecutor } from "../executor/executor.js";
import { resolveHome } from "../home/paths.js";
import { removeLeftovers, removeLeftoversBelow } from "../home/replace-file.js";
import { readVersion } from "../home/version.js";
import { createResourceMeter } from "../host/resource-meter.js";
import { createFailureLimit } from "../http/auth/failure-limit.js";
import { createGate, type Refusal } from "../http/auth/gate.js";
import { createLoginLinks } from "../http/auth/login-links.js";
import { openTokens } from "../http/auth/tokens.js";
import type { DaemonJson } from "../http/contract/daemon.js";
import { createPage } from "../http/page.js";
import { createApi } from "../http/server.js";
import type { NewEvent, Store } from "../ports/store.js";
import { realClock } from "../services/real-clock.js";
import { type SupervisionEnd, supervise } from "../services/supervise.js";
import { createEnvironments, describeEnvironment } from "../sessions/agent-environment.js";
import { logDirOf } from "../sessions/prepare-start.js";
import { redactStore } from "../store/redacted-store.js";
import { openStore } from "../store/sqlite/open-store.js";
import { describeConfig } from "./agent-config.js";
import { createBackends } from "./backends.js";
import {
	clusterService,
	createClusterMembership,
	createLeases,
	createLimits,
	whyNoCluster,
} from "./cluster-service.js";
import { dispatcherService, engineService, schedulerService } from "./core-services.js";
import { createEngine, ownerOf } from "./create-engine.js";
import { type DaemonLog, openDaemonLog } from "./daemon-log.js";
import { createDamagedFiles, type DamagedFiles } from "./damaged-files.js";
import { explainStartFailure, StartRefused, watchEnds } from "./ends.js";
import { historyService } from "./history-service.js";
import { createHostFacts } from "./host-facts.js";
import { explainForgottenRuns } from "./inspection/forgotten-runs.js";
import { createLogger, type Logger } from "./logger.js";
import { type NetworkState, networkService } from "./network-service.js";
import { notifierService, testNotify } from "./notifier-service.js";
import { openPush } from "./push-desk.js";
import { createPushFiles } from "./push-files.js";
import { createDaemonRemotes, remotesService } from "./remotes-service.js";
import { searchIndexService } from "./search-index-service.js";
import { acquireHome, makeHomeFolders, prepareHome } from "./self-care/acquire-home.js";
import { compileLater } from "./self-care/compile-later.js";
import { CrashReporter } from "./self-care/crash-reporter.js";
import { createHomeClaim, type HomeClaim } from "./self-care/home-claim.js";
import {
	causeOf,
	hostRestarted,
	type Marker,
	putMarker,
	removeMarker,
} from "./self-care/running-marker.js";
import { type ManagerEnv, ServiceManager, takeManagerEnv } from "./self-care/service-manager.js";
import { trimMemory } from "./self-care/trim-memory.js";
import { watchdogService } from "./self-care/watchdog-service.js";
import { type ReloadedSettings, Settings } from "./settings.js";
import { socketService } from "./socket-service.js";
import { renderLimits, renderStatus } from "./status.js";
import { createTokenFiles } from "./token-files.js";

/** How long files and connections may take to close after the services have stopped. */
const CLOSE_MS_MAX = 5_000;
/** Variables of earlier versions, and the settings that replaced them. */
const MOVED = [
	["REEVE_HISTORY_EVENTS", "history.events"],
	["REEVE_HISTORY_DAYS", "history.age"],
] as const;

compileLater();
const managerEnv = takeManagerEnv(process.env, process.pid);
const home = resolveHome(process.env);
const identity = { version: readVersion(), startedAt: new Date().toISOString() };
let log: DaemonLog | null = null;
let settings: Settings | null = null;
let manager: ServiceManager | null = null;
const secrets = createRedactor();
const logger = createLogger(
	(line) => (log === null ? process.stderr.write(line) : log.write(line)),
	secrets.redact,
);
const reporter = new CrashReporter(home, identity);
const ends = watchEnds(logger, reporter, async () => void (await reload()));
process.exitCode = await main().catch((error: unknown) => {
	logger.error("cannot start the daemon", explainStartFailure(error, home.dir));
	return 1;
});
// Remaining timers and sockets must not keep the process alive.
process.exit();

async function main(): Promise<number> {
	await prepareHome(home);
	log = openDaemonLog(home.daemonLog);
	const taken = await acquireHome(home);
	if (taken.outcome === "failed") throw new StartRefused(taken.reason);
	if (taken.outcome === "served") {
		logger.info("another daemon is running for this home", { home: home.dir, pid: taken.pid });
		return 0;
	}
	await makeHomeFolders(home);
	const claim = createHomeClaim(home);
	removeLeftovers(home.dir);
	removeLeftoversBelow(home.agents);
	const left = putMarker(home.marker, { pid: process.pid, ...identity });
	process.on("exit", () => {
		if (claim.look() === "held") removeMarker(home.marker);
	});
	const death = left === null ? null : causeOf(home.daemonLog);
	const forgotten = await explainForgottenRuns(home);
	if (forgotten !== null) throw new StartRefused(forgotten);
	const opened = await openStore(home.database, { program: identity.version });
	if (opened.ok) reporter.watchEvents(opened.store);
	if (left !== null && death !== null) reportDeath(left, death);
	if (!opened.ok) throw new StartRefused(`${opened.reason} ${opened.hint}`);
	settings = await Settings.read(home);
	const { problem } = settings;
	if (problem !== null) logger.info("invalid settings; using the defaults", { problem });
	for (const [name, key] of MOVED) {
		if (process.env[name] === undefined) continue;
		logger.info(`${name} is no longer supported: set ${key} in ${home.settings}`);
	}
	return serve(redactStore(opened.store, secrets.redact), settings, claim);
}

/** Everything that does not depend on the settings or on the services. */
async function createParts(store: Store, settings: Settings) {
	// Not awaited: a full disk must prevent neither serving nor stopping.
	const note = (event: NewEvent) =>
		void store.commit((transaction) => transaction.appendEvent(event, Date.now())).catch(() => {});
	const damaged = createDamagedFiles(logger, note);
	const backends = createBackends(home.runtime, {
		onReopened: ({ agentId, runId }) =>
			note({ type: "agent.terminal_reopened", agent: agentId, run_id: runId, data: {} }),
	});
	const executor = createExecutor({
		owner: ownerOf(home.dir),
		onTrouble: (message) => logger.info(message),
	});
	const cluster = createClusterMembership({ note, logger });
	const leases = createLeases(cluster, note);
	const sharedLimits = createLimits(settings);
	const environments = createEnvironments(process.env, secrets.addValue);
	const engine = createEngine({
		...{ home, store, backends, executor, logger, environments, leases },
		onDamage: damaged.add,
		redact: secrets.redact,
		whyNoCluster: () => whyNoCluster(cluster),
		sharedLimits,
	});
	backends.onExit((exit) => engine.exited(exit));
	const auth = await createAuth(damaged, (data) => note({ type: "operator.refused", data }));
	const push = await openPush(createPushFiles(home, damaged.add), auth.tokens, Date.now);
	const remotes = createDaemonRemotes({ home, onDamage: damaged.add, note, logger });
	return {
		...{ note, damaged, backends, executor, cluster, leases, sharedLimits, environments, engine },
		...{ auth, push, remotes },
	};
}

async function serve(store: Store, settings: Settings, claim: HomeClaim): Promise<number> {
	const parts = await createParts(store, settings);
	const { note, damaged, backends, cluster, leases, environments, engine, push, remotes } = parts;
	const { sharedLimits } = parts;
	const limits = renderLimits(backends.describeLimits());
	const network: NetworkState = { listen: null, url: null, problem: null };
	const recovered = createSignal<void>();
	const taking = createSignal<void>();
	let isTaking = false;
	void taking.promise.then(() => {
		isTaking = true;
	});
	const status = () =>
		renderStatus({
			...identity,
			home,
			limits,
			network,
			cluster: cluster.view(),
			backends: backends.support,
			settingsProblem: settings.problem,
			services: supervisor.status(),
			stopping: supervisor.stopping,
			recovery: isTaking ? null : engine.recovery,
			health: store.health(),
			damagedFiles: damaged.problems(),
			homeProblem: claim.problem(),
		});
	if (managerEnv !== null) manager = createManager(managerEnv, status);
	const api = createApi({
		engine,
		store,
		clock: realClock,
		host: hostname(),
		version: identity.version,
		status,
		recovery: { isOver: () => isTaking, over: taking.promise },
		...parts.auth,
		...{ push, remotes, cluster },
		shutDown: () => setImmediate(() => supervisor.stop()),
		reload,
		testNotify: (route) => testNotify(settings, route),
		logDirOf: (id) => logDirOf(home.logs, id),
		indexes: home.search,
		redact: secrets.redact,
		meter: createResourceMeter(),
		describeHost: createHostFacts(home),
		describeConfig: (agent) => describeConfig(agent, secrets.redact),
		describeEnvironment: (spec) => describeEnvironment(environments, spec),
		page: createPage(fileURLToPath(new URL("../dashboard", import.meta.url))),
		onError: (error, { correlationId }) =>
			logger.error("request failed", error, { correlation_id: correlationId }),
	});
	const services = [
		engineService(engine, recovered.resolve),
		dispatcherService(recovered.promise, engine, taking.resolve),
		schedulerService(taking.promise, engine.schedules),
		socketService(api, home, claim),
		networkService(api, settings, network),
		notifierService({
			store,
			settings,
			push,
			pageUrl: () => network.url,
			onError: (error) => logger.error("notification failed", error),
		}),
		remotesService(remotes, home),
		clusterService({
			...{ membership: cluster, leases, sharedLimits, home, settings, version: identity.version },
			...{ learn: secrets.addValue, onDamage: damaged.add, sharedTasks: engine.sharedTasks },
			runningAgents: () => engine.list().filter(({ process }) => process === "running").length,
		}),
		historyService(store, settings, logger),
		searchIndexService(engine, home, logger),
		watchdogService(home, settings, () => reporter.snapshot()),
		...(manager === null ? [] : [manager.service()]),
	];
	const supervisor = supervise(services, {
		onEnd({ service, action, reason }) {
			logger.info(reason, { service, action });
			note({ type: "service.ended", data: { service, action, reason } });
		},
	});
	ends.attach(supervisor);
	reporter.watchServices(() => supervisor.status());
	const { version } = identity;
	note({ type: "daemon.started", data: { version, pid: process.pid } });
	logger.info("started", { version, pid: process.pid, home: home.dir });
	trimMemory();
	const stopWatching = watchHealth(store, logger);
	const stopLooking = claim.watch(logger, (reason) => {
		logger.error("stopping because the home is lost; agents keep running", reason);
		supervisor.fail(reason);
	});

	const ended = await supervisor.ended;
	setTimeout(() => process.exit(ended.exitCode), CLOSE_MS_MAX);
	stopWatching();
	stopLooking();
	await close(parts, claim, ended);
	await store.close();
	return ended.exitCode;
}

async function close(
	{ note, backends, executor, leases }: Awaited<ReturnType<typeof createParts>>,
	claim: HomeClaim,
	{ exitCode, reason, failedToStop }: SupervisionEnd,
): Promise<void> {
	leases.close();
	logger.info("stopping", { exitCode, reason, failed_to_stop: failedToStop });
	if (exitCode !== 0) reporter.report("service_failed", reason);
	await executor.close();
	await backends.close();
	if (claim.look() === "held") await rm(home.socket, { force: true });
	note({ type: "daemon.stopping", data: { reason } });
}

/** The action of SIGHUP and `reeve daemon reload`. */
async function reload(): Promise<ReloadedSettings> {
	manager?.reloading();
	log?.reopen();
	const read = (await settings?.reload()) ?? { changed: false, keys: [], problem: null };
	logger.info("settings and log reloaded", read);
	manager?.reloaded();
	return read;
}

function createManager(env: ManagerEnv, status: () => DaemonJson): ServiceManager {
	const view = () => {
		const { ready, problems } = status();
		return { ready, status: problems.length === 0 ? "ready" : problems.join("; ") };
	};
	return new ServiceManager(env, view, (message) => logger.info(message));
}

function reportDeath(left: Marker, death: ReturnType<typeof causeOf>): void {
	if (hostRestarted(left)) {
		logger.info("the host was shut down while a daemon was running", { pid: left.pid });
		return;
	}
	reporter.reportLeft(left, death);
	logger.info("the previous daemon crashed", { pid: left.pid, ...death });
}

async function createAuth(damaged: DamagedFiles, onRefusal: (refusal: Refusal) => void) {
	const wallMs = () => realClock.now().wallMs;
	const tokens = await openTokens(createTokenFiles(home, damaged.add), realClock);
	const limit = createFailureLimit(() => realClock.now().steadyMs);
	const gate = createGate(tokens, limit, process.getuid?.() ?? 0, onRefusal);
	return { tokens, gate, links: createLoginLinks(wallMs) };
}

const POLL_MS = 1_000;

/** Stops when the returned function is called. */
function watchHealth(store: Store, logger: Logger): () => void {
	let logged: string | null = null;
	const timer = setInterval(() => {
		const health = store.health();
		const reason = health.ok ? null : health.reason;
		if (reason === logged) return;
		if (reason === null) logger.info("store recovered; queued changes written");
		else logger.error("cannot write to the store; agents keep running", reason);
		logged = reason;
	}, POLL_MS);
	return () => clearInterval(timer);
}
