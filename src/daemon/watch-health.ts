/** Notes in the log when nothing can be stored any more, and when it can be again. */

import type { Store } from "../ports/store.js";
import type { Logger } from "./logger.js";

const LOOK_MS = 1_000;

/** Ends when the returned function is called. */
export function watchHealth(store: Store, logger: Logger): () => void {
	let told: string | null = null;
	const timer = setInterval(() => {
		const health = store.health();
		const reason = health.ok ? null : health.reason;
		if (reason === told) return;
		if (reason === null) logger.info("what waited is stored again");
		else logger.error("nothing can be stored; agents run on", reason);
		told = reason;
	}, LOOK_MS);
	return () => clearInterval(timer);
}
