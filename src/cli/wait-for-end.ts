/** Waits for a task or plan to finish, also across a restart of the daemon, which continues it. */

import { ReeveError } from "../core/errors.js";

/** Each request waits this long for the end. */
export const POLL_MS = 2_000;
const RETRY_MS = 300;
/** A daemon that is gone for longer will not come back by itself. */
const AWAY_MS_MAX = 30_000;

/** Polls until `isOver`. `show` is the command that shows the task or plan later. */
export async function waitForEnd<T>(
	look: () => Promise<T>,
	isOver: (seen: T) => boolean,
	onLook: (seen: T) => void,
	show: string,
): Promise<T> {
	let awaySinceMs: number | null = null;
	for (;;) {
		try {
			const seen = await look();
			awaySinceMs = null;
			onLook(seen);
			if (isOver(seen)) return seen;
		} catch (error) {
			const away =
				error instanceof ReeveError &&
				(error.code === "no_daemon" || error.code === "connection_lost");
			const recovers = error instanceof ReeveError && error.code === "not_ready";
			awaySinceMs = recovers ? null : (awaySinceMs ?? performance.now());
			if (!away && !recovers) throw error;
			if (awaySinceMs !== null && performance.now() - awaySinceMs > AWAY_MS_MAX) {
				throw new ReeveError(
					"no_daemon",
					"accepted but not finished, and no daemon is running",
					`It continues when a daemon is running: \`reeve daemon start\`, then \`${show}\`.`,
				);
			}
			await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
		}
	}
}

/** While `work` is running, Ctrl-C prints how to find it later. */
export async function printOnInterrupt<T>(say: () => void, work: Promise<T>): Promise<T> {
	const interrupted = () => {
		say();
		process.exit(130);
	};
	process.once("SIGINT", interrupted);
	try {
		return await work;
	} finally {
		process.removeListener("SIGINT", interrupted);
	}
}
