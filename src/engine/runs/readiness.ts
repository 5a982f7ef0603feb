/**
 * When a run that has begun is ready, so that what depends on it may start. Looks for the one sign
 * that the fleet file names; an agent without one is ready at once.
 */

import type { ReadySpec } from "../../config/spec.js";
import { compilePattern, type Pattern } from "../../core/pattern.js";
import type { Clock } from "../../ports/clock.js";

/** How often a sign is looked for. */
const LOOK_EVERY_MS = 250;
const COMMAND_EVERY_MS = 1_000;

/** How the world is looked at. Each answers whether the sign is there. */
export interface ReadinessProbes {
	/** Whether what the run has printed so far matches. */
	readonly logMatches: (pattern: Pattern) => Promise<boolean>;
	readonly portListens: (port: number) => Promise<boolean>;
	readonly commandSucceeds: (argv: readonly string[]) => Promise<boolean>;
}

/** Calls back once, when the sign is seen. The answer stops looking. */
export function watchReadiness(
	ready: ReadySpec | null,
	clock: Clock,
	probes: ReadinessProbes,
	onReady: () => void,
): () => void {
	if (ready === null) return waitFor(clock, 0, onReady);
	if (ready.delayMs !== null) return waitFor(clock, ready.delayMs, onReady);
	const { log, port, command } = ready;
	if (log !== null) {
		const pattern = compilePattern(log);
		return look(clock, LOOK_EVERY_MS, () => probes.logMatches(pattern), onReady);
	}
	if (port !== null) return look(clock, LOOK_EVERY_MS, () => probes.portListens(port), onReady);
	return look(clock, COMMAND_EVERY_MS, () => probes.commandSucceeds(command ?? []), onReady);
}

function waitFor(clock: Clock, delayMs: number, onReady: () => void): () => void {
	return clock.schedule(delayMs, onReady);
}

/** Looks again and again until the sign is seen. A look that fails has seen nothing. */
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
