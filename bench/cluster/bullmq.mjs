/** BullMQ, with the worker in this process like the others. */

import { createRequire } from "node:module";
import { join } from "node:path";
import { measureCallers, PAYLOAD } from "./callers.mjs";

const RESULT_MS_MAX = 60_000;
const [tasks = "1", callers = "1", folder = "", path = ""] = process.argv.slice(2);
const { Queue, QueueEvents, Worker } = createRequire(join(folder, "package.json"))("bullmq");
const connection = { path, maxRetriesPerRequest: null };
new Worker("bench", async (/** @type {{ data: unknown }} */ job) => job.data, {
	...{ connection, concurrency: Number(callers) },
});
const queue = new Queue("bench", { connection });
const events = new QueueEvents("bench", { connection });
await events.waitUntilReady();
await measureCallers(Number(tasks), Number(callers), async () =>
	(await queue.add("go", PAYLOAD)).waitUntilFinished(events, RESULT_MS_MAX),
);
process.exit(0);
