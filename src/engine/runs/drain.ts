/**
 * Stops one run: asks the agent to exit with the steps of its adapter, gentlest first, and then handles
 * the rest of its process tree. The grace period applies to the whole tree: SIGKILL reaches only
 * processes that are alive when it is over.
 *
 * Keeps S11 (stop ends with an empty process tree) and S12 (SIGKILL never before the grace period).
 */

import type { DrainStep } from "../../core/adapter.js";
import { KEY_BYTES } from "../../core/screen.js";
import type { Activity } from "../../core/states.js";
import type { AgentSignal, RunHandle, RunProcess } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent } from "../../ports/store.js";
import { withDeadline } from "../waiting.js";
import { endTree, processKey, type TreeEnd, type TreeEnding } from "./end-tree.js";
import type { SessionRun } from "./run.js";

const DRAIN_POLL_MS = 250;
/** How long the exit report of a process that is gone may take. */
const EXIT_REPORT_MS = 5_000;
/** How long a key may take to have an effect. */
const KEY_MS_MAX = 3_000;

export interface Drained {
	/** `graceful` only if nothing had to be killed (S19). */
	readonly outcome: "graceful" | "timed_out_killed" | "not_proven";
	readonly reason: string | null;
	readonly killed: readonly RunProcess[];
}

export interface DrainSteps {
	readonly steps: readonly DrainStep[];
	/** The agent's current activity, if known. */
	readonly activity: () => Activity;
	readonly onStep: (step: DrainStep | "sigkill") => Promise<void>;
}

/** The steps of an adapter. A single step is not reported, because that would add no information. */
export function drainStepsOf(
	steps: readonly DrainStep[],
	activity: () => Activity,
	about: { readonly agent: string; readonly run_id: string },
	note: (event: NewEvent) => Promise<void>,
): DrainSteps {
	const onStep = async (step: DrainStep | "sigkill") => {
		if (steps.length > 1) await note({ ...about, type: "agent.drain_step", data: { step } });
	};
	return { steps, activity, onStep };
}

export async function drainRun(
	run: SessionRun,
	timeoutMs: number,
	clock: Clock,
	drain: DrainSteps,
): Promise<Drained> {
	const untilMs = clock.now().steadyMs + timeoutMs;
	const onKill = () => drain.onStep("sigkill");
	const ending = { untilMs, asked: new Set<string>(), onKill, isCalledOff: false };
	if (run.handle !== null) await climb(run, run.handle, ending, clock, drain);
	const end = await endTree(run, clock, ending);
	if (!end.gone) return { outcome: "not_proven", reason: end.reason, killed: [] };
	await withDeadline(clock, run.ended.promise, EXIT_REPORT_MS);
	return drainResult(end);
}

/** Asks the agent's own process to exit. Returns when it is gone, or the time is up; kills nothing. */
export async function askToExit(
	run: SessionRun,
	timeoutMs: number,
	clock: Clock,
	drain: DrainSteps,
): Promise<void> {
	const untilMs = clock.now().steadyMs + timeoutMs;
	const ending = { untilMs, asked: new Set<string>(), onKill: async () => {}, isCalledOff: false };
	if (run.handle !== null) await climb(run, run.handle, ending, clock, drain);
}

export function drainResult(end: TreeEnd): Drained {
	if (!end.gone) return { outcome: "not_proven", reason: end.reason, killed: [] };
	const { killed } = end;
	return { outcome: killed.length === 0 ? "graceful" : "timed_out_killed", reason: null, killed };
}

const SIGNALS: Readonly<Partial<Record<DrainStep, AgentSignal>>> = {
	sigint: "SIGINT",
	sigterm: "SIGTERM",
	sighup: "SIGHUP",
};

/** Runs until the agent's own process is gone, or the time is up. */
async function climb(
	run: SessionRun,
	handle: RunHandle,
	{ untilMs, asked }: TreeEnding,
	clock: Clock,
	{ steps, activity, onStep }: DrainSteps,
): Promise<void> {
	const left = () => Math.max(0, untilMs - clock.now().steadyMs);
	for (const [index, step] of steps.entries()) {
		const isLast = index === steps.length - 1;
		// Without any time, only the signal of the last step is sent.
		if (left() === 0 && !isLast) continue;
		const signal = SIGNALS[step];
		// An idle agent has nothing to wait for or to interrupt.
		if (signal === undefined && activity() !== "busy") continue;
		await onStep(step);
		if (signal !== undefined) {
			const reached = await run.backend.signal(handle, signal);
			if (signal === "SIGTERM") for (const each of reached) asked.add(processKey(each));
		} else if (step === "esc" || step === "ctrl_c") {
			await run.backend.input(handle, Buffer.from(KEY_BYTES[step])).catch(() => {});
		}
		// Half of the remaining time for each step, and all of it for the last.
		const shareMs = isLast ? left() : left() / 2;
		const waitMs =
			signal === undefined && step !== "turn" ? Math.min(shareMs, KEY_MS_MAX) : shareMs;
		const isOver = signal === undefined ? () => activity() !== "busy" : () => false;
		if (await endsWithin(run, handle, waitMs, clock, isOver)) return;
	}
	await endsWithin(run, handle, left(), clock, () => false);
}

/** Checks at least once, even without any time. */
async function endsWithin(
	run: SessionRun,
	handle: RunHandle,
	timeoutMs: number,
	clock: Clock,
	isOver: () => boolean,
): Promise<boolean> {
	const untilMs = clock.now().steadyMs + timeoutMs;
	for (;;) {
		if ((await run.backend.isRunning(handle)) === false) return true;
		const leftMs = untilMs - clock.now().steadyMs;
		if (leftMs <= 0 || isOver()) return false;
		const waited = await withDeadline(clock, run.ended.promise, Math.min(DRAIN_POLL_MS, leftMs));
		if (waited === "done") return true;
	}
}
