/** Logs when writes to the store start to fail and when they work again. */

import type { Store } from "../../ports/store.js";
import type { Logger } from "../logger.js";

const LOOK_MS = 1_000;

/** Ends when the returned function is called. */
export function watchHealth(store: Store, logger: Logger): () => void {
	let logged: string | null = null;
	const timer = setInterval(() => {
		const health = store.health();
		const reason = health.ok ? null : health.reason;
		if (reason === logged) return;
		if (reason === null) logger.info("store recovered; queued changes written");
		else logger.error("cannot write to the store; agents keep running", reason);
		logged = reason;
	}, LOOK_MS);
	return () => clearInterval(timer);
}
