/** Shared tasks of one host, with an agent that answers in this process. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { measureCallers, PAYLOAD } from "./callers.mjs";

const [tasks = "1", callers = "1", url = ""] = process.argv.slice(2);
/** @param {string} path */
const built = (path) => import(new URL(`../../build/${path}.js`, import.meta.url).href);
/** @type {typeof import("../../src/engine/shared-tasks/shared-tasks.js")} */
const { SharedTasks } = await built("engine/shared-tasks/shared-tasks");
/** @type {typeof import("../../src/engine/tasks/running-attempts.js")} */
const { RunningAttempts } = await built("engine/tasks/running-attempts");
/** @type {typeof import("../../src/core/database-url.js")} */
const { parseDatabaseUrl } = await built("core/database-url");
/** @type {typeof import("../../src/store/postgres/cluster-database.js")} */
const { openClusterDatabase } = await built("store/postgres/cluster-database");
/** @type {typeof import("../../src/store/sqlite/open-store.js")} */
const { openStore } = await built("store/sqlite/open-store");
/** @type {typeof import("../../src/host/ordered-id.js")} */
const { createIds } = await built("host/ordered-id");
/** @type {typeof import("../../src/services/real-clock.js")} */
const { realClock } = await built("services/real-clock");
/** @type {typeof import("../../src/core/errors.js")} */
const { ReeveError } = await built("core/errors");

const parsed = parseDatabaseUrl(url);
if (!parsed.ok) throw new Error(parsed.problem);
const database = await openClusterDatabase(parsed.target, "bench");
await database.prepare();
const newId = createIds();
const member = { host: "bench", home: "bench", boot: newId() };
const facts = {
	...{ version: "1.0.0", labels: {}, advertise: null, adapters: [], cpus: 1, load: 0 },
	...{ memoryTotalBytes: 0, memoryFreeBytes: 0, agents: 0 },
};
await database.join(member, facts, () => null);
const folder = mkdtempSync(join(tmpdir(), "reeve-bench-"));
const opened = await openStore(join(folder, "reeve.db"));
if (!opened.ok) throw new Error(opened.reason);

/** The settings of a call agent that tasks need. */
const spec = /** @type {import("../../src/engine/shared-tasks/shared-world.js").PlacedCall} */ (
	/** @type {unknown} */ ({
		...{ id: "b:echo", name: "echo", kind: "call", adapter: "generic", profile: null },
		...{ timeoutMs: 30_000, concurrency: 1_000, idempotent: true, unsafeActions: [] },
		retry: { maxAttempts: 3, initialBackoffMs: 500, maxBackoffMs: 5_000, jitter: 0 },
		circuitBreaker: { failureThreshold: 3, cooldownMs: 60_000 },
		placement: { labels: {} },
	})
);
const shared = new SharedTasks({
	...{ store: opened.store, clock: realClock, random: Math.random, newId },
	agents: {
		...{ specOf: () => spec, overBudget: () => null, mayCall: () => true },
		perform: async ({ request }) => ({
			outcome: { ok: true, result: request.payload },
			log: "",
		}),
	},
	...{ placed: () => [spec], executor: { endLeft: async () => [] }, concurrency: 1_000 },
	...{ running: new RunningAttempts(), freed() {} },
	log: {
		attemptFailed() {},
		attemptLeft() {},
		failed: (what, error) => console.error(what, error),
	},
	unavailable: () => new ReeveError("cluster_unavailable", "not yet"),
});
const over = new AbortController();
const describe = async () => ({ ...facts, draining: false });
void shared.run({ member, database: database.tasks }, describe, over.signal);
while (
	!(await shared.countTasks({}).then(
		() => true,
		() => false,
	))
) {
	await sleep(50);
}
const MINUTE_MS = 60_000;
await measureCallers(Number(tasks), Number(callers), async () => {
	const { taskId } = await shared.submit({ agent: spec.id, action: "go", payload: PAYLOAD });
	await shared.wait(taskId, MINUTE_MS);
});
rmSync(folder, { recursive: true, force: true });
process.exit(0);
