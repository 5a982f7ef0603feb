/** What is wrong with a daemon that runs all the same, for whoever has just started it. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.js";
import type { Home } from "../client/home.js";
import { isToListen } from "./listen-settings.js";
import type { Output } from "./output.js";
import { plainLine } from "./sanitize.js";

const LISTENING_MS_MAX = 2_000;

/** What keeps it from being reached as its settings say: it runs, so this is no failure. */
export async function warnOfProblems(home: Home, client: Client, output: Output): Promise<void> {
	const untilMs = performance.now() + LISTENING_MS_MAX;
	let status = await client.call("GET /api/v1/daemon");
	// Whether a port can be had is known a moment after the daemon answers on its socket.
	while (status.listen === null && status.problems.length === 0 && (await isToListen(home))) {
		if (performance.now() > untilMs) break;
		await sleep(50);
		status = await client.call("GET /api/v1/daemon");
	}
	for (const problem of status.problems) {
		output.say(`${output.sayColors.yellow("note")}: ${plainLine(problem)}`);
	}
}
