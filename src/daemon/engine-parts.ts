/** Constructs the engine and the calls with the resources of this host. */

import { createHash } from "node:crypto";
import { redactDeep } from "../core/redact.js";
import { Engine } from "../engine/engine.js";
import { watchReadiness } from "../engine/runs/readiness.js";
import { Calls } from "../engine/tasks/calls.js";
import { DEFAULT_CONCURRENCY } from "../engine/tasks/calls-world.js";
import type { FileDamage } from "../home/json-file.js";
import { type Home, resolveLeases } from "../home/paths.js";
import { createIds } from "../host/ordered-id.js";
import { shimPath } from "../native/find-binary.js";
import type { Executor } from "../ports/executor.js";
import type { Store } from "../ports/store.js";
import { realClock } from "../services/real-clock.js";
import type { Environments } from "../sessions/agent-environment.js";
import { headlessFor } from "../sessions/headless.js";
import { localDay } from "../sessions/local-day.js";
import { checkStart, logDirOf, prepareStart } from "../sessions/prepare-start.js";
import { createProbes } from "../sessions/probes.js";
import { createSessionWorld } from "../sessions/session-world.js";
import { createFileVault } from "../store/vault/file-vault.js";
import type { Backends } from "./backends.js";
import type { Logger } from "./logger.js";
import { minuteOfDay } from "./minute-of-day.js";

interface Parts {
	readonly home: Home;
	readonly store: Store;
	readonly executor: Executor;
	readonly logger: Logger;
	/** Removes the secrets of agents from a text. */
	readonly redact: (text: string) => string;
}

const newOrderedId = createIds();

export function createEngine(
	parts: Parts & {
		readonly backends: Backends;
		readonly environments: Environments;
		readonly onDamage: (damage: FileDamage) => void;
	},
): Engine {
	const { home, store, backends, executor, logger, onDamage, environments, redact } = parts;
	const vault = createFileVault(home.vault, { locks: home.locks, onDamage });
	const onTrouble = (message: string) => logger.info(message);
	return new Engine({
		store,
		clock: realClock,
		vault,
		executor,
		adapterFor: headlessFor,
		secrets: { learn: async (spec) => void (await environments.read(spec)), redact },
		chooseBackend: (spec) => backends.get(backends.choose(spec).name),
		backendNamed: backends.get,
		random: Math.random,
		newRunId: newOrderedId,
		minuteOfDay,
		async prepare(spec, intent) {
			const { refused } = backends.choose(spec);
			if (refused !== null) return { ok: false, detail: refused };
			return prepareStart(spec, intent, { environments, home, onTrouble });
		},
		checkStart: async (spec) =>
			backends.choose(spec).refused ?? (await checkStart(spec, environments)),
		sessions: createSessionWorld(home, resolveLeases(process.env), environments, shimPath),
		dayOf: localDay,
		watchReady: (spec, onReady) => {
			const ready = spec.kind === "call" ? null : spec.ready;
			const probes = createProbes(spec, logDirOf(home.logs, spec.id), environments);
			return watchReadiness(ready, realClock, probes, onReady);
		},
		onError: (agent, error) => logger.error("failed", error, { agent }),
	});
}

export function createCalls(parts: Parts & { readonly engine: Engine }): Calls {
	const { store, engine, executor, logger, redact } = parts;
	return new Calls({
		store,
		clock: realClock,
		random: Math.random,
		newId: newOrderedId,
		specOf: (id) => engine.specOf(id),
		overBudget: (id) => engine.overBudget(id),
		mayCall: (id, underWay) => engine.mayCall(id, underWay),
		async perform(order, signal) {
			const { outcome, log, ...end } = await engine.perform(order, signal);
			// The result of a call belongs to its caller; everything about a failure is shown to others.
			const told = outcome?.ok === false ? redactDeep(outcome, redact) : outcome;
			return { ...end, outcome: told, log: redact(log) };
		},
		async endLeft(runIds) {
			const left = await executor.endLeft(runIds);
			for (const { runId, reason } of left) {
				logger.error("processes of an earlier attempt are still running", reason, {
					run_id: runId,
				});
			}
			return left;
		},
		concurrency: DEFAULT_CONCURRENCY,
		log: (message, data) => logger.info(message, data),
		onError: (about, error) => logger.error("failed", error, { about }),
	});
}

/** A unique name for every home on this host. */
export function ownerOf(folder: string): string {
	return `calls-${createHash("sha256").update(folder).digest("hex").slice(0, 12)}`;
}
