/**
 * Stopping one run: ask it to end, in the ways that its adapter knows, gentlest first; watch it for as
 * long as it may take; then end its whole process tree and prove that nothing is left.
 *
 * Keeps S11 (stop ends with an empty process tree) and S12 (SIGKILL never before the grace period).
 */

import type { DrainRung } from "../core/adapter.js";
import { KEY_BYTES } from "../core/screen.js";
import type { Activity } from "../core/states.js";
import type { AgentSignal, RunHandle } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import type { NewEvent } from "../ports/store.js";
import type { LiveRun } from "./agent-state.js";
import { withDeadline } from "./waiting.js";

const DRAIN_POLL_MS = 250;
/** How long the exit of a process that is gone may take to be reported. */
const EXIT_REPORT_MS = 5_000;
/** How long a key is given to take effect. */
const KEY_MS_MAX = 3_000;

export interface Drained {
	readonly outcome: "graceful" | "timed_out_killed" | "not_proven";
	readonly reason: string | null;
}

export interface DrainWays {
	readonly rungs: readonly DrainRung[];
	/** What the agent does now, as far as it is known. */
	readonly activity: () => Activity;
	readonly onRung: (rung: DrainRung | "sigkill") => Promise<void>;
}

/** The ways of an adapter. Where it knows but one, saying so would say nothing. */
export function drainWaysOf(
	rungs: readonly DrainRung[],
	activity: () => Activity,
	about: { readonly agent: string; readonly run_id: string },
	note: (event: NewEvent) => Promise<void>,
): DrainWays {
	const onRung = async (rung: DrainRung | "sigkill") => {
		if (rungs.length > 1) await note({ ...about, type: "agent.drain_rung", data: { rung } });
	};
	return { rungs, activity, onRung };
}

export async function drainRun(
	live: LiveRun,
	timeoutMs: number,
	clock: Clock,
	ways: DrainWays,
): Promise<Drained> {
	const { handle, backend } = live;
	if (handle === null) return { outcome: "graceful", reason: null };
	const graceful = await climb(live, handle, clock.now().steadyMs + timeoutMs, clock, ways);
	if (!graceful) await ways.onRung("sigkill");
	// Also after a graceful end: descendants that the agent left behind are ended.
	const killed = await backend.kill(handle);
	if (!killed.ok) return { outcome: "not_proven", reason: killed.reason };
	await withDeadline(clock, live.ended.promise, EXIT_REPORT_MS);
	return { outcome: graceful ? "graceful" : "timed_out_killed", reason: null };
}

const SIGNALS: Readonly<Partial<Record<DrainRung, AgentSignal>>> = {
	sigint: "SIGINT",
	sigterm: "SIGTERM",
	sighup: "SIGHUP",
};

/** Whether it has ended by the time that it is given. */
async function climb(
	live: LiveRun,
	handle: RunHandle,
	untilMs: number,
	clock: Clock,
	{ rungs, activity, onRung }: DrainWays,
): Promise<boolean> {
	const left = () => untilMs - clock.now().steadyMs;
	for (const [index, rung] of rungs.entries()) {
		if (left() <= 0) break;
		const signal = SIGNALS[rung];
		// There is nothing to wait for, or to interrupt, in an agent that does nothing.
		if (signal === undefined && activity() !== "busy") continue;
		await onRung(rung);
		const isLast = index === rungs.length - 1;
		if (signal !== undefined) await live.backend.signal(handle, signal);
		else if (rung === "esc" || rung === "ctrl_c") {
			await live.backend.input(handle, Buffer.from(KEY_BYTES[rung])).catch(() => {});
		}
		// Half of what is left for each, so that every rung has its time, and the last has it all.
		const shareMs = isLast ? left() : left() / 2;
		const waitMs =
			signal === undefined && rung !== "turn" ? Math.min(shareMs, KEY_MS_MAX) : shareMs;
		const isOver = signal === undefined ? () => activity() !== "busy" : () => false;
		if (await endsWithin(live, handle, waitMs, clock, isOver)) return true;
	}
	return endsWithin(live, handle, Math.max(0, left()), clock, () => false);
}

/** Looks at least once, also when there is no time at all. */
async function endsWithin(
	live: LiveRun,
	handle: RunHandle,
	timeoutMs: number,
	clock: Clock,
	isOver: () => boolean,
): Promise<boolean> {
	const untilMs = clock.now().steadyMs + timeoutMs;
	for (;;) {
		if ((await live.backend.isRunning(handle)) === false) return true;
		const leftMs = untilMs - clock.now().steadyMs;
		if (leftMs <= 0 || isOver()) return false;
		const waited = await withDeadline(clock, live.ended.promise, Math.min(DRAIN_POLL_MS, leftMs));
		if (waited === "done") return true;
	}
}
