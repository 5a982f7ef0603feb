/** The parts without which there is nothing to serve: their end is the daemon's. */

import type { Calls } from "../engine/calls/calls.js";
import type { Engine } from "../engine/engine.js";
import { drainMsOf, type Service } from "../services/supervise.js";
import { aborted } from "./aborted.js";

/** Hundreds of agents on a slow disk take a while to be taken up; only what hangs takes longer. */
const RECOVERY_MS_MAX = 600_000;
/** What is left of the time to stop when calls are ended: their clients must still be answered. */
const ANSWER_MS = 500;

export function engineService(engine: Engine, recovered: () => void): Service {
	return {
		name: "engine",
		policy: "critical",
		settings: { startTimeoutMs: RECOVERY_MS_MAX },
		async run(signal, ready) {
			await engine.recover();
			recovered();
			ready();
			await aborted(signal);
			engine.close();
		},
	};
}

/** Without the dispatcher, what was taken on would never end. */
export function dispatcherService(
	recovered: Promise<void>,
	calls: Calls,
	taking: () => void,
): Service {
	return {
		name: "dispatcher",
		policy: "critical",
		settings: { startTimeoutMs: RECOVERY_MS_MAX },
		async run(signal, ready) {
			await Promise.race([recovered, aborted(signal)]);
			if (!signal.aborted) await calls.recover();
			taking();
			ready();
			await aborted(signal);
			await calls.close(Math.max(0, drainMsOf(signal) - ANSWER_MS));
		},
	};
}
