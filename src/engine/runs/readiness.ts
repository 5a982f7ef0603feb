/**
 * When a started run is ready, so that its dependents may start. Checks the condition of the fleet
 * file; an agent without one is ready immediately.
 */

import type { ReadySpec } from "../../config/spec.js";
import { compilePattern, type Pattern } from "../../core/pattern.js";
import type { Clock } from "../../ports/clock.js";

/** The check interval. */
const POLL_MS = 250;
const COMMAND_EVERY_MS = 1_000;
const HTTP_EVERY_MS = 1_000;

/** Probes of the host. Each returns whether the condition is met. */
export interface ReadinessProbes {
	/** Whether the output of the run so far matches. */
	readonly logMatches: (pattern: Pattern) => Promise<boolean>;
	readonly portListens: (port: number) => Promise<boolean>;
	/** Whether a GET request succeeds. */
	readonly httpAnswers: (url: string) => Promise<boolean>;
	readonly commandSucceeds: (argv: readonly string[]) => Promise<boolean>;
}

/** Calls back once, when the condition is met. The returned function stops checking. */
export function watchReadiness(
	ready: ReadySpec | null,
	/** How long it has been running. */
	upMs: number,
	clock: Clock,
	probes: ReadinessProbes,
	onReady: () => void,
): () => void {
	if (ready === null) return waitFor(clock, 0, onReady);
	if (ready.delayMs !== null) return waitFor(clock, Math.max(0, ready.delayMs - upMs), onReady);
	const { log, port, http, command } = ready;
	if (log !== null) {
		const pattern = compilePattern(log);
		return look(clock, POLL_MS, () => probes.logMatches(pattern), onReady);
	}
	if (port !== null) return look(clock, POLL_MS, () => probes.portListens(port), onReady);
	if (http !== undefined)
		return look(clock, HTTP_EVERY_MS, () => probes.httpAnswers(http), onReady);
	return look(clock, COMMAND_EVERY_MS, () => probes.commandSucceeds(command ?? []), onReady);
}

function waitFor(clock: Clock, delayMs: number, onReady: () => void): () => void {
	return clock.schedule(delayMs, onReady);
}

/** Checks until the condition is met. A failed check counts as not met. */
function look(
	clock: Clock,
	everyMs: number,
	seen: () => Promise<boolean>,
	onReady: () => void,
): () => void {
	let stopped = false;
	let cancel = () => {};
	const again = async () => {
		const found = await seen().catch(() => false);
		if (stopped) return;
		if (found) onReady();
		else cancel = clock.schedule(everyMs, () => void again());
	};
	cancel = clock.schedule(0, () => void again());
	return () => {
		stopped = true;
		cancel();
	};
}
