/**
 * The expected decisions of the crash policy, computed from the whole history at every exit. It keeps
 * every exit but no counter and no ring, so it does not share mistakes with the policy, which stores only those.
 */

import type { CrashAction, CrashPolicySettings, ExitClass } from "../../src/core/crash-state.js";
import type { ExitKind, ExitReport } from "../../src/core/exit.js";
import type { OnCleanExit, PolicyState } from "../../src/core/states.js";

export interface PastExit {
	readonly kind: ExitKind;
	readonly uptimeMs: number;
	/** For a usage limit. */
	readonly resetInMs: number | null;
}

interface Placed extends PastExit {
	/** End of the run on the running-time axis. */
	readonly atMs: number;
	readonly class: ExitClass | null;
	/** Whether this exit completes a crash loop, whatever the settings make of it. */
	readonly loops: boolean;
}

export interface Expected {
	readonly policy: PolicyState;
	readonly class: ExitClass | null;
	/** How many exits are flapping, counted from the last recovery. */
	readonly flaps: number;
	readonly action: CrashAction["type"];
	/** The shortest and the longest delay that may follow; null when none does. */
	readonly delayMs: readonly [shortest: number, longest: number] | null;
}

/** S9: what kind of exit this is, derived from its facts in a different way than in the core. */
export function expectKind(report: ExitReport, permanentExitCodes: readonly number[]): ExitKind {
	const { askedBy, cause, code, permanent } = report;
	if (askedBy !== null || cause === "requested") return "planned";
	const ownCause = (["usage_limit", "auth", "overloaded", "config", "out_of_memory"] as const).find(
		(own) => own === cause,
	);
	if (ownCause !== undefined) return ownCause;
	if (cause === "completed" || (cause === "unknown" && code === 0)) return "clean";
	if (permanent || permanentExitCodes.some((declared) => declared === code)) return "permanent";
	return cause === "spawn_error" ? "spawn_error" : "failed";
}

export interface Oracle {
	/** The expected state after this exit, which follows all earlier ones. */
	expectAfter(exit: PastExit): Expected;
	readonly seen: number;
}

/** An oracle that has seen nothing yet: for a new agent, or one that was just resumed. */
export function createOracle(settings: CrashPolicySettings, onCleanExit: OnCleanExit): Oracle {
	const history: Placed[] = [];
	return {
		expectAfter(exit) {
			const atMs = (history.at(-1)?.atMs ?? 0) + exit.uptimeMs;
			const exitClass = classOf(exit, atMs, history, settings, onCleanExit);
			const judged = { ...exit, atMs, class: exitClass, loops: false };
			const last = { ...judged, loops: completesLoop([...history, judged], judged, settings) };
			history.push(last);
			const summary = summarise(history, last, settings);
			return { ...summary, ...followUp(history, last, summary.policy, settings, onCleanExit) };
		},
		get seen() {
			return history.length;
		},
	};
}

function summarise(
	history: readonly Placed[],
	last: Placed,
	settings: CrashPolicySettings,
): Omit<Expected, "action" | "delayMs"> {
	const sinceRecovery = afterLastRecovery(history, settings);
	const flaps = countFlaps(history, settings);
	const restartable = ["failed", "overloaded", "spawn_error", "out_of_memory"];
	const halted =
		["permanent", "auth", "config"].includes(last.kind) ||
		(last.loops && settings.halt !== "never") ||
		(settings.onFailure === "stop" && restartable.includes(last.kind));
	const troubled =
		flaps > 0 || sinceRecovery.some((exit) => exit.kind === "out_of_memory" || exit.loops);
	const policy = halted ? "halted" : troubled ? "degraded" : "healthy";
	return { policy, class: last.class, flaps };
}

/** Whether the last exit is one flapping exit, one failure or one out-of-memory kill too many. */
function completesLoop(
	history: readonly Placed[],
	last: Placed,
	settings: CrashPolicySettings,
): boolean {
	const { haltThreshold, budget } = settings;
	const outOfMemory = history.filter((exit) => exit.kind === "out_of_memory");
	const spent = history.filter((exit) => exit.class === "flapping" || exit.class === "transient");
	return (
		(last.class === "flapping" && countFlaps(history, settings) >= haltThreshold) ||
		(spent.at(-1) === last && within(spent, budget.exits, budget.withinMs)) ||
		(outOfMemory.at(-1) === last && within(outOfMemory, haltThreshold, budget.withinMs))
	);
}

function countFlaps(history: readonly Placed[], settings: CrashPolicySettings): number {
	return afterLastRecovery(history, settings).filter((exit) => exit.class === "flapping").length;
}

/** The delay after a failure: fixed, or grown by every failure since the last recovery. */
function failureDelay(
	history: readonly Placed[],
	last: Placed,
	settings: CrashPolicySettings,
): number {
	const { delay, transientDelayMs, flappingDelayMs } = settings;
	if (last.loops) return delay === null ? flappingDelayMs : delay.maxMs;
	const slowed = last.class === "flapping" || last.kind === "out_of_memory";
	if (delay === null) return slowed ? flappingDelayMs : transientDelayMs;
	const failures = afterLastRecovery(history, settings).filter(
		(exit) =>
			exit.class === "flapping" || exit.class === "transient" || exit.kind === "out_of_memory",
	);
	let delayMs = delay.initialMs;
	for (let n = 1; n < failures.length; n++) delayMs = Math.min(delay.maxMs, delayMs * delay.factor);
	return Math.min(delay.maxMs, delayMs);
}

/** The reaction to an exit, derived from the documented rules one by one. */
function followUp(
	history: readonly Placed[],
	last: Placed,
	policy: PolicyState,
	settings: CrashPolicySettings,
	onCleanExit: OnCleanExit,
): Pick<Expected, "action" | "delayMs"> {
	const { transientDelayMs, jitter } = settings;
	const restart = (baseMs: number) =>
		({ action: "restart", delayMs: [baseMs, baseMs * (1 + jitter)] }) as const;
	if (policy === "halted") return { action: "halt", delayMs: null };
	switch (last.kind) {
		case "planned":
			return { action: "none", delayMs: null };
		case "usage_limit": {
			const { resetInMs } = last;
			if (resetInMs === null || resetInMs <= 0) {
				const unknown = history.filter((exit) => !exit.resetInMs || exit.resetInMs <= 0);
				return {
					action: "park",
					delayMs: grown(unknown, ["usage_limit"], 300_000, 3_600_000, settings, history),
				};
			}
			const ms = Math.min(Math.max(resetInMs, 1_000), 31 * 86_400_000);
			return { action: "park", delayMs: [ms, ms] };
		}
		case "overloaded":
		case "spawn_error": {
			const baseMs = Math.max(transientDelayMs, 1_000);
			const capMs = Math.max(baseMs, 300_000);
			const kinds: ExitKind[] = ["overloaded", "spawn_error"];
			return {
				action: "restart",
				delayMs: grown(history, kinds, baseMs, capMs, settings, history),
			};
		}
		case "out_of_memory":
			return restart(failureDelay(history, last, settings));
		case "clean":
			if (onCleanExit === "prompt") return { action: "ask_operator", delayMs: null };
			if (onCleanExit === "complete") return { action: "complete", delayMs: null };
			if (onCleanExit === "stop") return { action: "stop", delayMs: null };
			return restart(failureDelay(history, last, settings));
		default:
			return restart(failureDelay(history, last, settings));
	}
}

/** A delay that doubles with every such exit since the last run as long as the budget's span. */
function grown(
	among: readonly Placed[],
	kinds: readonly ExitKind[],
	baseMs: number,
	capMs: number,
	{ jitter, budget }: CrashPolicySettings,
	history: readonly Placed[],
): readonly [number, number] {
	const longAt = history.findLastIndex((exit) => exit.uptimeMs >= Math.max(budget.withinMs, 0));
	const since = longAt === -1 ? history : history.slice(longAt);
	const count = since.filter((exit) => kinds.includes(exit.kind) && among.includes(exit)).length;
	const exactMs = Math.min(capMs, baseMs * 2 ** Math.min(count - 1, 60));
	return [Math.max(baseMs, exactMs / (1 + jitter)), Math.min(capMs, exactMs * (1 + jitter))];
}

function classOf(
	exit: PastExit,
	atMs: number,
	earlier: readonly Placed[],
	settings: CrashPolicySettings,
	onCleanExit: OnCleanExit,
): ExitClass | null {
	if (exit.kind !== "failed" && exit.kind !== "clean") return null;
	const counts = (kind: ExitKind) =>
		kind === "failed" || (kind === "clean" && onCleanExit === "restart");
	if (!counts(exit.kind)) return "clean";
	const judged = earlier.filter((other) => other.class !== null);
	// This exit takes one of the places in the ring.
	const inRing = judged.slice(Math.max(0, judged.length + 1 - settings.history));
	const recent = inRing.filter(
		(other) => counts(other.kind) && atMs - other.atMs <= settings.windowMs,
	);
	const stable = exit.uptimeMs >= settings.windowMs;
	const inWindow = 1 + (stable ? 0 : recent.length);
	if (inWindow >= settings.flapThreshold) return "flapping";
	return exit.kind === "failed" ? "transient" : "clean";
}

/**
 * The exits since the agent last recovered, the exit that ended that run included. It recovers with a
 * run that lasts a whole window, and with a clean exit that is not part of a fast loop.
 */
function afterLastRecovery(
	history: readonly Placed[],
	settings: CrashPolicySettings,
): readonly Placed[] {
	const at = history.findLastIndex(
		(exit) =>
			exit.uptimeMs >= settings.windowMs || (exit.kind === "clean" && exit.class === "clean"),
	);
	return at === -1 ? history : history.slice(at);
}

/** Whether the last `count` of these lie within one span. */
function within(exits: readonly Placed[], count: number, spanMs: number): boolean {
	const oldest = exits.at(-count);
	const newest = exits.at(-1);
	return oldest !== undefined && newest !== undefined && newest.atMs - oldest.atMs <= spanMs;
}
