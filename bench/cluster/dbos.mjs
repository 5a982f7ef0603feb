/**
 * Bare DBOS: a workflow with one step on a queue that is polled as often as Reeve's. A caller's wait ends with the
 * function of its workflow, before its result is stored and without a poll for it.
 */

import { randomUUID } from "node:crypto";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { measureCallers, PAYLOAD } from "./callers.mjs";

const [tasks = "1", callers = "1", url = ""] = process.argv.slice(2);
/** @type {Map<string, () => void>} */
const waiting = new Map();

const work = DBOS.registerWorkflow(
	/** @param {string} id @param {unknown} payload */
	async (id, payload) => {
		const result = await DBOS.runStep(async () => payload, { name: "answer" });
		waiting.get(id)?.();
		return result;
	},
	{ name: "work" },
);
DBOS.setConfig({
	...{ name: "bench", systemDatabaseUrl: url, applicationVersion: "1", logLevel: "error" },
	useListenNotify: false,
});
await DBOS.launch();
await DBOS.registerQueue("bench", { workerConcurrency: 1_000, minPollingIntervalMs: 100 });
await measureCallers(Number(tasks), Number(callers), async () => {
	const id = randomUUID();
	const done = new Promise((resolve) => waiting.set(id, () => resolve(null)));
	await DBOS.startWorkflow(work, { workflowID: id, queueName: "bench" })(id, PAYLOAD);
	await done;
	waiting.delete(id);
});
process.exit(0);
