/** The other side of the queue: gives back what it was given. */

import { createRequire } from "node:module";
import { join } from "node:path";

const [folder = "", path = "", concurrency = "1"] = process.argv.slice(2);
const { Worker } = createRequire(join(folder, "package.json"))("bullmq");
const connection = { path, maxRetriesPerRequest: null };
new Worker("bench", async (/** @type {{ data: unknown }} */ job) => job.data, {
	...{ connection, concurrency: Number(concurrency) },
});
