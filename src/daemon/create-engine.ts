/** Constructs the engine with the resources of this host. */

import { createHash } from "node:crypto";
import { localTimezone } from "../config/cron.js";
import { loadPlan } from "../config/load.js";
import type { ReeveError } from "../core/errors.js";
import { Engine } from "../engine/engine.js";
import { watchReadiness } from "../engine/runs/readiness.js";
import { DEFAULT_CONCURRENCY, type TaskLog } from "../engine/tasks/tasks-world.js";
import type { FileDamage } from "../home/json-file.js";
import { type Home, resolveLeases } from "../home/paths.js";
import { localCalendar } from "../host/local-calendar.js";
import { createIds } from "../host/ordered-id.js";
import { readProcessEnvironment } from "../host/process-environment.js";
import { shimPath } from "../native/find-binary.js";
import type { Executor } from "../ports/executor.js";
import type { Leases } from "../ports/leases.js";
import type { SharedLimits } from "../ports/shared-limits.js";
import type { Store } from "../ports/store.js";
import { realClock } from "../services/real-clock.js";
import type { Environments } from "../sessions/agent-environment.js";
import { createFileWatcher } from "../sessions/file-watcher.js";
import { headlessFor } from "../sessions/headless.js";
import { createHealthProbe } from "../sessions/health-probe.js";
import { logDirOf } from "../sessions/prepare-start.js";
import { createProbes } from "../sessions/probes.js";
import { createSessionWorld } from "../sessions/session-world.js";
import { createFileVault } from "../store/vault/file-vault.js";
import type { Backends } from "./backends.js";
import type { Logger } from "./logger.js";

const newOrderedId = createIds();

export function createEngine(parts: {
	readonly home: Home;
	readonly store: Store;
	readonly backends: Backends;
	readonly executor: Executor;
	readonly environments: Environments;
	readonly logger: Logger;
	readonly onDamage: (damage: FileDamage) => void;
	/** Removes the secrets of agents from a text. */
	readonly redact: (text: string) => string;
	readonly leases: Leases;
	readonly whyNoCluster: () => ReeveError;
	readonly sharedLimits: SharedLimits;
}): Engine {
	const { home, store, backends, executor, logger, onDamage, environments, redact } = parts;
	const { leases, whyNoCluster, sharedLimits } = parts;
	const vault = createFileVault(home.vault, { locks: home.locks, onDamage });
	return new Engine({
		store,
		clock: realClock,
		vault,
		executor,
		adapterFor: headlessFor,
		secrets: {
			async learn(spec, running) {
				await environments.read(spec);
				for (const process of running) {
					const environment = readProcessEnvironment(process);
					if (environment !== null) environments.learnRunning(environment);
				}
			},
			redact,
		},
		backends,
		random: Math.random,
		newRunId: newOrderedId,
		calendar: localCalendar,
		sessions: createSessionWorld({
			home,
			backends,
			environments,
			leases: resolveLeases(process.env),
			nativeProgram: shimPath,
			onTrouble: (message) => logger.info(message),
		}),
		watchReady: (spec, { outputFrom, upMs }, onReady) => {
			const ready = spec.kind === "call" ? null : spec.ready;
			const world = { environments, owner: ownerOf(home.dir) };
			const probes = createProbes(spec, logDirOf(home.logs, spec.id), outputFrom, world);
			return watchReadiness(ready, upMs, realClock, probes, onReady);
		},
		checkHealth: createHealthProbe(environments, ownerOf(home.dir)),
		watchFiles: createFileWatcher(home.dir),
		leases,
		whyNoCluster,
		sharedLimits,
		timezone: localTimezone(),
		readPlan: (file) => loadPlan(file),
		concurrency: DEFAULT_CONCURRENCY,
		log: createTaskLog(logger),
		onError: (agent, error) => logger.error("failed", error, { agent }),
	});
}

function createTaskLog(logger: Logger): TaskLog {
	return {
		attemptFailed: (reason, ids) => logger.info(reason, ids),
		attemptLeft: ({ runId, reason }) =>
			logger.error("processes of an earlier attempt are still running", reason, { run_id: runId }),
		failed: (taskId, error) => logger.error("failed", error, { about: `task ${taskId}` }),
	};
}

/** A unique name for every home on this host. */
export function ownerOf(folder: string): string {
	return `calls-${createHash("sha256").update(folder).digest("hex").slice(0, 12)}`;
}
