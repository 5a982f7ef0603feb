/** Keeps history within bounds: now and then, and sooner while much happens. */

import { DEFAULT_RETENTION, type Retention } from "../core/retention.js";
import type { Store } from "../ports/store.js";
import type { Service } from "../services/supervise.js";
import type { Logger } from "./logger.js";

const EVERY_MS = 600_000;
const EVENTS_BETWEEN_MAX = 5_000;
const DAY_MS = 86_400_000;

/** What the environment says of how much is kept. Throws when that is no number. */
export function readRetention(env: Readonly<Record<string, string | undefined>>): Retention {
	const read = (name: string, otherwise: number) => {
		const text = env[name];
		if (text === undefined || text === "") return otherwise;
		if (!/^[1-9]\d{0,8}$/.test(text)) {
			throw new Error(`${name} is to be a whole number from 1 on, and is ${JSON.stringify(text)}`);
		}
		return Number(text);
	};
	const eventsMax = read("REEVE_HISTORY_EVENTS", DEFAULT_RETENTION.eventsMax);
	return {
		...DEFAULT_RETENTION,
		eventsMax,
		eventsMin: Math.min(eventsMax, DEFAULT_RETENTION.eventsMin),
		ageMsMax: read("REEVE_HISTORY_DAYS", DEFAULT_RETENTION.ageMsMax / DAY_MS) * DAY_MS,
	};
}

/** Without it the daemon does all it is for; only its database grows. */
export function historyService(store: Store, retention: Retention, logger: Logger): Service {
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
				try {
					const pruned = await store.prune(retention, Date.now());
					if (Object.values(pruned).some((count) => count > 0)) logger.info("history cut", pruned);
				} catch (error) {
					logger.error("history could not be cut", error);
				}
				await new Promise<void>((resolve) => {
					const timer = setTimeout(resolve, EVERY_MS);
					wake = () => {
						clearTimeout(timer);
						resolve();
					};
					if (signal.aborted) wake();
				});
			}
			stop();
		},
	};
}
