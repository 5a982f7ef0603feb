/** Answers each line with what it was given: as little as a worker can do. */

import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
	const { request_id, payload } = JSON.parse(line);
	process.stdout.write(
		`${JSON.stringify({ request_id, status: "success", code: 0, result: payload })}\n`,
	);
}
