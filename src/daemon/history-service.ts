/** Removes old history regularly, and more often under load. */

import type { Store } from "../ports/store.js";
import type { Service } from "../services/supervise.js";
import type { Logger } from "./logger.js";
import type { Settings } from "./settings.js";

const EVERY_MS = 600_000;
const EVENTS_BETWEEN_MAX = 5_000;

/** Without it the daemon works, but its database grows. */
export function historyService(store: Store, settings: Settings, logger: Logger): Service {
	return {
		name: "history",
		policy: "tolerated",
		async run(signal, ready) {
			let wake = () => {};
			let events = 0;
			const stop = store.onCommit((more) => {
				events += more.length;
				if (events >= EVENTS_BETWEEN_MAX) wake();
			});
			signal.addEventListener("abort", () => wake());
			ready();
			while (!signal.aborted) {
				events = 0;
				const { untilChange, current } = settings;
				try {
					const pruned = await store.prune(current.retention, Date.now());
					if (Object.values(pruned).some((count) => count > 0))
						logger.info("old history removed", pruned);
				} catch (error) {
					logger.error("cannot remove old history", error);
				}
				await new Promise<void>((resolve) => {
					const timer = setTimeout(() => wake(), EVERY_MS);
					wake = () => {
						clearTimeout(timer);
						untilChange.removeEventListener("abort", wake);
						resolve();
					};
					untilChange.addEventListener("abort", wake);
					if (signal.aborted || untilChange.aborted) wake();
				});
			}
			stop();
		},
	};
}
