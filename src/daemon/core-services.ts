/** The critical services: if one fails, the daemon exits. */

import type { Engine } from "../engine/engine.js";
import type { Schedules } from "../engine/schedules/schedules.js";
import { drainMsOf, type Service } from "../services/supervise.js";
import { aborted } from "./aborted.js";

/** Recovering hundreds of agents on a slow disk takes a while; only a hang takes longer. */
const RECOVERY_MS_MAX = 600_000;
/** The time that remains for responses after calls were aborted. */
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

/** Fires the slots of schedules, once tasks are accepted. */
export function schedulerService(taking: Promise<void>, schedules: Schedules): Service {
	return {
		name: "scheduler",
		policy: "critical",
		settings: { startTimeoutMs: RECOVERY_MS_MAX },
		async run(signal, ready) {
			await Promise.race([taking, aborted(signal)]);
			ready();
			await schedules.run(signal);
		},
	};
}

/** Without the dispatcher, accepted tasks would never finish. */
export function dispatcherService(
	recovered: Promise<void>,
	{ tasks, sharedTasks }: Pick<Engine, "tasks" | "sharedTasks">,
	taking: () => void,
): Service {
	return {
		name: "dispatcher",
		policy: "critical",
		settings: { startTimeoutMs: RECOVERY_MS_MAX },
		async run(signal, ready) {
			await Promise.race([recovered, aborted(signal)]);
			if (!signal.aborted) await tasks.recover();
			taking();
			ready();
			await aborted(signal);
			sharedTasks.close();
			await tasks.close(Math.max(0, drainMsOf(signal) - ANSWER_MS));
		},
	};
}
