/** Warns about problems of a running daemon after a command has started it. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.js";
import { plainLine } from "../core/safe-text.js";
import type { Home } from "../home/paths.js";
import { isListenConfigured } from "./listen-settings.js";
import type { Output } from "./output.js";

const LISTENING_MS_MAX = 2_000;

/** Problems of its network settings: the daemon is running, so these are warnings. */
export async function warnOfProblems(home: Home, client: Client, output: Output): Promise<void> {
	const untilMs = performance.now() + LISTENING_MS_MAX;
	let status = await client.call("GET /api/v1/daemon");
	// Whether a port is available is known a moment after the daemon responds on its socket.
	while (
		status.listen === null &&
		status.problems.length === 0 &&
		(await isListenConfigured(home))
	) {
		if (performance.now() > untilMs) break;
		await sleep(50);
		status = await client.call("GET /api/v1/daemon");
	}
	for (const problem of status.problems) {
		output.note(`${output.sayColors.yellow("note")}: ${plainLine(problem)}`);
	}
}
