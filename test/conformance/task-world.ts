/**
 * Tasks for scripted agents, on the real clock: one world over the tasks of a host alone, in SQLite, and one over the
 * tasks that the hosts of a cluster share, in PostgreSQL through DBOS. Both are used through the same desk.
 */

import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { CallSpec } from "../../src/config/spec.js";
import { parseDatabaseUrl } from "../../src/core/database-url.js";
import { ReeveError } from "../../src/core/errors.js";
import type { ReeveEvent } from "../../src/core/events.js";
import type { ActionRequest } from "../../src/core/outcome.js";
import { SharedTasks } from "../../src/engine/shared-tasks/shared-tasks.js";
import type { PlacedCall } from "../../src/engine/shared-tasks/shared-world.js";
import { RunningAttempts } from "../../src/engine/tasks/running-attempts.js";
import { TaskDesk } from "../../src/engine/tasks/task-desk.js";
import { Tasks } from "../../src/engine/tasks/tasks.js";
import { createIds } from "../../src/host/ordered-id.js";
import type { AttemptEnd } from "../../src/ports/executor.js";
import type { Store } from "../../src/ports/store.js";
import { realClock } from "../../src/services/real-clock.js";
import { openClusterDatabase } from "../../src/store/postgres/cluster-database.js";
import { openStore } from "../../src/store/sqlite/open-store.js";
import { fleetOf, NO_TASK_LOG } from "../engine/daemon-world.js";
import { eventually } from "../faults/fleet-home.js";
import { HOST_REPORT } from "../support/memory-cluster.js";
import { temporaryFolder } from "../support/reeve.js";

/** The end of an attempt; null holds it until it is aborted. */
export type Script = (request: ActionRequest) => AttemptEnd | null | Promise<AttemptEnd>;

export interface TaskWorld {
	readonly desk: TaskDesk;
	script: Script;
	/** All started attempts, by request id, in order. */
	readonly begun: string[];
	/** The maximum number that ever ran at once. */
	readonly peak: { count: number };
	/** The events of tasks and circuits, as in the log of the host. */
	events(): readonly ReeveEvent[];
}

export const answered = (result: unknown = null): AttemptEnd => ({
	outcome: { ok: true, result },
	log: "",
});

type Parts = Pick<TaskWorld, "begun" | "peak"> & { script: Script };

function createAgents(agents: string, host: Parts) {
	const specs = new Map(fleetOf(agents).agents.map((spec) => [spec.id, spec]));
	let running = 0;
	return {
		specs,
		agents: {
			specOf: (id: string) => specs.get(id) ?? null,
			overBudget: () => null,
			mayCall: () => true,
			async perform({ request }: { request: ActionRequest }, signal: AbortSignal) {
				host.begun.push(request.request_id);
				running += 1;
				host.peak.count = Math.max(host.peak.count, running);
				const aborted = new Promise<AttemptEnd>((resolve) =>
					signal.addEventListener("abort", () => resolve({ outcome: null, log: "" })),
				);
				const end = await Promise.race([aborted, (await host.script(request)) ?? aborted]);
				running -= 1;
				return end;
			},
		},
	};
}

async function openTestStore(): Promise<Store> {
	const opened = await openStore(join(temporaryFolder(), "reeve.db"));
	if (!opened.ok) throw new Error(opened.reason);
	onTestFinished(() => opened.store.close());
	return opened.store;
}

const newId = createIds();

function createDesk(store: Store, called: ReturnType<typeof createAgents>, errors: unknown[]) {
	const log = {
		...NO_TASK_LOG,
		failed: (what: string, error: unknown) => void errors.push([what, String(error)]),
	};
	const parts = {
		...{ store, clock: realClock, random: () => 0, newId, agents: called.agents, log },
		running: new RunningAttempts(),
		executor: { endLeft: async () => [] },
	};
	const own = new Tasks({ ...parts, concurrency: { call: 16, worker: 16 } });
	const shared = new SharedTasks({
		...parts,
		concurrency: 16,
		placed: () =>
			[...called.specs.values()].filter(
				(spec): spec is PlacedCall => (spec as CallSpec).placement !== undefined,
			),
		freed: () => own.pump(),
		unavailable: () => new ReeveError("cluster_unavailable", "no member yet"),
	});
	return { own, shared, desk: new TaskDesk(own, shared, store) };
}

function worldOf(parts: Parts, desk: TaskDesk, store: Store): TaskWorld {
	return Object.assign(parts, {
		desk,
		events: () =>
			store
				.readEvents({ afterSeq: 0, limit: 10_000 })
				.filter(({ type }) => /^(task|circuit|dead_letter)\./.test(type)),
	});
}

export async function createOwnTasks(agents: string): Promise<TaskWorld> {
	const store = await openTestStore();
	const parts: Parts = { script: () => answered(), begun: [], peak: { count: 0 } };
	const { own, desk } = createDesk(store, createAgents(agents, parts), []);
	await own.recover();
	onTestFinished(() => own.close(0));
	return worldOf(parts, desk, store);
}

/** The same agents, with `placement: {}`. */
export async function createSharedTasks(agents: string, url: string): Promise<TaskWorld> {
	const store = await openTestStore();
	const placed = agents.replaceAll("kind: call,", "kind: call, placement: {},");
	const parts: Parts = { script: () => answered(), begun: [], peak: { count: 0 } };
	const errors: unknown[] = [];
	const { shared, desk } = createDesk(store, createAgents(placed, parts), errors);
	const parsed = parseDatabaseUrl(url);
	if (!parsed.ok) throw new Error(parsed.problem);
	const database = await openClusterDatabase(parsed.target, "a");
	await database.prepare();
	const member = { host: "a", home: "home-a", boot: newId() };
	await database.join(member, HOST_REPORT, () => null);
	const beats = setInterval(() => void database.beat(member, HOST_REPORT).catch(() => {}), 2_000);
	const over = new AbortController();
	const describe = async () => ({ ...HOST_REPORT, draining: false });
	const ran = shared.run({ member, database: database.tasks }, describe, over.signal);
	onTestFinished(async () => {
		clearInterval(beats);
		over.abort();
		await ran;
		await database.close();
		if (errors.length > 0) throw new Error(JSON.stringify(errors));
	});
	await eventually(
		() => desk.list({ limit: 1 }).then(({ incomplete }) => incomplete === null),
		"it is a member",
		10_000,
	);
	return worldOf(parts, desk, store);
}
