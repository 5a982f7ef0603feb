/** Sends heartbeats to the watchdog thread, and updates the data for its report. */

import { Worker } from "node:worker_threads";
import type { Home } from "../../home/paths.js";
import type { Service } from "../../services/supervise.js";
import { aborted } from "../aborted.js";
import type { Settings } from "../settings.js";
import type { WatchdogData, WatchdogSnapshot } from "./watchdog-worker.js";

/** Checks without a heartbeat until the loop counts as blocked: many, so that single slow ones do not matter. */
const SILENT_TICKS_MAX = 30;

/** Without it the daemon works, but a hang would not be detected. */
export function watchdogService(
	home: Home,
	settings: Settings,
	snapshot: () => WatchdogSnapshot,
): Service {
	return {
		name: "watchdog",
		policy: "tolerated",
		async run(signal, ready) {
			ready();
			while (!signal.aborted) {
				const { current, untilChange } = settings;
				const until = AbortSignal.any([signal, untilChange]);
				if (current.watchdogMs === 0) await aborted(until);
				else await watch(home, current.watchdogMs, snapshot, until);
			}
		},
	};
}

async function watch(
	{ crashes, vault, token, daemonLog, marker }: Home,
	limitMs: number,
	snapshot: () => WatchdogSnapshot,
	signal: AbortSignal,
): Promise<void> {
	const tickMs = limitMs / SILENT_TICKS_MAX;
	const data: WatchdogData = {
		beats: new SharedArrayBuffer(4),
		tickMs,
		silentTicksMax: SILENT_TICKS_MAX,
		home: { crashes, vault, token, daemonLog, marker },
	};
	const worker = new Worker(new URL("./watchdog-worker.js", import.meta.url), {
		workerData: data,
		resourceLimits: { maxOldGenerationSizeMb: 32 },
	});
	const counter = new Int32Array(data.beats);
	const beat = () => {
		Atomics.add(counter, 0, 1);
		worker.postMessage(snapshot());
	};
	beat();
	const timer = setInterval(beat, tickMs / 2);
	try {
		await Promise.race([aborted(signal), ended(worker)]);
	} finally {
		clearInterval(timer);
		await worker.terminate();
	}
}

function ended(worker: Worker): Promise<never> {
	return new Promise((_, reject) => {
		worker.once("error", reject);
		worker.once("exit", (code) => reject(new Error(`the watchdog thread exited with ${code}`)));
	});
}
