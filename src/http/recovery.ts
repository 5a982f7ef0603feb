/**
 * Requests that arrive while the daemon recovers its agents. Until that is over, nothing true can be reported about an
 * agent, so they wait for it, within a bound. Routes that are `early` (health, readiness, the daemon's state) answer
 * immediately.
 */

import { ReeveError } from "../core/errors.js";
import type { RouteSpec } from "./contract/route.js";
import type { HttpParts } from "./handler.js";

/** A client that waits longer gets the reason instead. */
const WAIT_MS_MAX = 10_000;

/** Throws when the recovery is not over in time, or the daemon stops before. */
export async function untilRecovered(
	{ early }: Pick<RouteSpec, "early">,
	{ recovery, status }: Pick<HttpParts, "recovery" | "status">,
	gone: () => AbortSignal,
	waitMsMax = WAIT_MS_MAX,
): Promise<void> {
	if (early || recovery.isOver()) return;
	await waitFor(recovery.over, gone(), waitMsMax);
	if (recovery.isOver()) return;
	if (gone().aborted) {
		throw new ReeveError("daemon_stopping", "the daemon is stopping; nothing was done");
	}
	const message = `${status().problems.join("; ")}; nothing was done`;
	throw new ReeveError("not_ready", message, undefined, { retry_after_s: 1 });
}

function waitFor(over: Promise<void>, signal: AbortSignal, withinMs: number): Promise<void> {
	return new Promise((resolve) => {
		const done = () => {
			clearTimeout(timer);
			signal.removeEventListener("abort", done);
			resolve();
		};
		const timer = setTimeout(done, withinMs);
		signal.addEventListener("abort", done);
		if (signal.aborted) done();
		void over.then(done);
	});
}
