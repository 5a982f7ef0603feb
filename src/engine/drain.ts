/**
 * Stopping one run: ask it to end, watch it for as long as it may take, then end its whole process
 * tree and prove that nothing is left.
 *
 * Keeps S11 (stop ends with an empty process tree) and S12 (SIGKILL never before the grace period).
 */

import type { RunHandle } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import type { LiveRun } from "./agent-state.js";
import { withDeadline } from "./waiting.js";

const DRAIN_POLL_MS = 250;
/** How long the exit of a process that is gone may take to be reported. */
const EXIT_REPORT_MS = 5_000;

export interface Drained {
	readonly outcome: "graceful" | "timed_out_killed" | "not_proven";
	readonly reason: string | null;
}

export async function drainRun(live: LiveRun, timeoutMs: number, clock: Clock): Promise<Drained> {
	const { handle, backend } = live;
	if (handle === null) return { outcome: "graceful", reason: null };
	if (timeoutMs > 0) await backend.signal(handle, "SIGTERM");
	const graceful = await endsWithin(live, handle, timeoutMs, clock);
	// Also after a graceful end: descendants that the agent left behind are ended.
	const killed = await backend.kill(handle);
	if (!killed.ok) return { outcome: "not_proven", reason: killed.reason };
	await withDeadline(clock, live.ended.promise, EXIT_REPORT_MS);
	return { outcome: graceful ? "graceful" : "timed_out_killed", reason: null };
}

/** Looks at least once, also when there is no time at all. */
async function endsWithin(
	live: LiveRun,
	handle: RunHandle,
	timeoutMs: number,
	clock: Clock,
): Promise<boolean> {
	const untilMs = clock.now().steadyMs + timeoutMs;
	for (;;) {
		if ((await live.backend.isRunning(handle)) === false) return true;
		const leftMs = untilMs - clock.now().steadyMs;
		if (leftMs <= 0) return false;
		const waited = await withDeadline(clock, live.ended.promise, Math.min(DRAIN_POLL_MS, leftMs));
		if (waited === "done") return true;
	}
}
