/**
 * The daemon: the only place that constructs IO. Takes the lock of its home, opens the store, takes up
 * the agents that an earlier daemon left, and serves until it is told to end. Agents run on.
 */

import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { resolveHome } from "../client/home.js";
import { readVersion } from "../client/version.js";
import { createSignal } from "../engine/waiting.js";
import { createExecutor } from "../executor/executor.js";
import { createFailureLimit } from "../http/auth/failure-limit.js";
import { createGate, type Refusal } from "../http/auth/gate.js";
import { createLoginLinks } from "../http/auth/login-links.js";
import { openTokens } from "../http/auth/tokens.js";
import type { DaemonJson } from "../http/contract/daemon.js";
import { createApi } from "../http/server.js";
import type { NewEvent, Store } from "../ports/store.js";
import { realClock } from "../services/real-clock.js";
import { supervise } from "../services/supervise.js";
import { openStore } from "../store/sqlite/open-store.js";
import { createBackends } from "./backends.js";
import { dispatcherService, engineService } from "./core-services.js";
import { CrashReporter } from "./crash-reporter.js";
import { type DaemonLog, openDaemonLog } from "./daemon-log.js";
import { watchEnds } from "./ends.js";
import { createCalls, createEngine, ownerOf } from "./engine-parts.js";
import { explainForgottenRuns } from "./forgotten-runs.js";
import { historyService, readRetention } from "./history-service.js";
import { prepareHome } from "./home-dir.js";
import { createLogger } from "./logger.js";
import { type NetworkState, networkService } from "./network-service.js";
import { notifierService } from "./notifier-service.js";
import { logDirOf } from "./prepare-start.js";
import { causeOf, hostRestarted, type Marker, putMarker, removeMarker } from "./running-marker.js";
import { type ManagerEnv, ServiceManager, takeManagerEnv } from "./service-manager.js";
import { Settings } from "./settings.js";
import { socketService } from "./socket-service.js";
import { renderLimits, renderStatus } from "./status.js";
import { takeHome } from "./take-home.js";
import { createTokenFiles } from "./token-files.js";
import { watchHealth } from "./watch-health.js";
import { watchdogService } from "./watchdog-service.js";

/** How long files and connections may take to close once the services have ended. */
const CLOSE_MS_MAX = 5_000;

const managerEnv = takeManagerEnv(process.env, process.pid);
const home = resolveHome(process.env);
const identity = { version: readVersion(), startedAt: new Date().toISOString() };
let log: DaemonLog | null = null;
let settings: Settings | null = null;
let manager: ServiceManager | null = null;
const logger = createLogger((line) =>
	log === null ? process.stderr.write(line) : log.write(line),
);
const reporter = new CrashReporter(home, identity);
const ends = watchEnds(logger, reporter, async () => void (await reload()));
process.exitCode = await main().catch((error: unknown) => {
	logger.error("the daemon could not start", error);
	return 1;
});
// Timers and sockets of others must not keep a daemon that has ended.
process.exit();

async function main(): Promise<number> {
	const retention = readRetention(process.env);
	await prepareHome(home);
	log = openDaemonLog(home.daemonLog);
	const taken = await takeHome(home);
	if (taken.outcome === "failed") throw new Error(taken.reason);
	if (taken.outcome === "served") {
		logger.info("another daemon has this home", { home: home.dir, pid: taken.pid });
		return 0;
	}
	const left = putMarker(home.marker, { pid: process.pid, ...identity });
	process.on("exit", () => removeMarker(home.marker));
	const death = left === null ? null : causeOf(home.daemonLog);
	const forgotten = explainForgottenRuns(home);
	if (forgotten !== null) throw new Error(forgotten);
	const opened = await openStore(home.database, { program: identity.version });
	if (opened.ok) reporter.watchEvents(opened.store);
	if (left !== null && death !== null) tellOfDeath(left, death);
	if (!opened.ok) throw new Error(`${opened.reason} ${opened.hint}`);
	settings = await Settings.read(home);
	const { problem } = settings;
	if (problem !== null)
		logger.info("the settings cannot be used: nothing in them holds", { problem });
	return serve(opened.store, settings, retention);
}

async function serve(
	store: Store,
	settings: Settings,
	retention: ReturnType<typeof readRetention>,
): Promise<number> {
	// Not waited for: a full disk must neither keep the daemon from serving nor from ending.
	const note = (event: NewEvent) =>
		void store.commit((transaction) => transaction.appendEvent(event, Date.now())).catch(() => {});
	const backends = createBackends(home.runtime);
	const executor = createExecutor({
		owner: ownerOf(home.dir),
		onTrouble: (message) => logger.info(message),
	});
	const engine = createEngine({ home, store, backends, executor, logger });
	backends.onExit((exit) => engine.exited(exit));
	const calls = createCalls({ home, store, engine, executor, logger });

	const limits = renderLimits(backends.describeLimits());
	const network: NetworkState = { listen: null, url: null, problem: null };
	const recovered = createSignal<void>();
	const taking = createSignal<void>();
	const status = () =>
		renderStatus({
			...{ ...identity, home, limits, network, backends: backends.support },
			...{ settingsProblem: settings.problem, services: supervisor.status() },
			health: store.health(),
		});
	if (managerEnv !== null) manager = createManager(managerEnv, status);
	const api = createApi({
		...{ engine, calls, store, clock: realClock, host: hostname() },
		...{ version: identity.version, status },
		...(await createAuth((data) => note({ type: "operator.refused", data }))),
		shutDown: () => setImmediate(() => supervisor.stop()),
		reload,
		logDirOf: (id) => logDirOf(home.logs, id),
		onError: (error, { correlationId }) =>
			logger.error("a request failed", error, { correlation_id: correlationId }),
	});
	const services = [
		engineService(engine, recovered.resolve),
		dispatcherService(recovered.promise, calls, taking.resolve),
		socketService(api, home, taking.promise),
		networkService(api, settings, taking.promise, network),
		notifierService(store, settings, (error) => logger.error("nobody could be told", error)),
		historyService(store, retention, logger),
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
	const stopWatching = watchHealth(store, logger);

	const { exitCode, reason, failedToStop } = await supervisor.ended;
	setTimeout(() => process.exit(exitCode), CLOSE_MS_MAX);
	stopWatching();
	logger.info("stopping", { exitCode, reason, failed_to_stop: failedToStop });
	if (exitCode !== 0) reporter.report("service_failed", reason);
	await executor.close();
	await backends.close();
	await rm(home.socket, { force: true });
	note({ type: "daemon.stopping", data: { reason } });
	await store.close();
	return exitCode;
}

/** What SIGHUP and `reeve daemon reload` do. */
async function reload(): Promise<{ readonly changed: boolean; readonly problem: string | null }> {
	manager?.reloading();
	log?.reopen();
	const read = (await settings?.reload()) ?? { changed: false, problem: null };
	logger.info("settings and log read anew", read);
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

function tellOfDeath(left: Marker, death: ReturnType<typeof causeOf>): void {
	if (hostRestarted(left)) {
		logger.info("the host went down while a daemon ran", { pid: left.pid });
		return;
	}
	reporter.reportLeft(left, death);
	logger.info("the last daemon died", { pid: left.pid, ...death });
}

async function createAuth(onRefusal: (refusal: Refusal) => void) {
	const wallMs = () => realClock.now().wallMs;
	const tokens = await openTokens(createTokenFiles(home), wallMs);
	const limit = createFailureLimit(() => realClock.now().steadyMs);
	const gate = createGate(tokens, limit, process.getuid?.() ?? 0, onRefusal);
	return { tokens, gate, links: createLoginLinks(wallMs) };
}
