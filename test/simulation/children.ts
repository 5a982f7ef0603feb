/** Random children for the crash world: each has a behaviour, and exits accordingly every time. */

import type { CrashPolicySettings } from "../../src/core/crash-state.js";
import { type ExitReport, exitReport } from "../../src/core/exit.js";
import type { SeededRandom } from "../../src/testing/random.js";

export interface Child {
	readonly habit: Behaviour;
	/** How its next run ends. */
	end(random: SeededRandom): ExitReport;
}

export const BEHAVIOURS = [
	"dies at once",
	"burns slowly",
	"ends cleanly at once",
	"works and ends cleanly",
	"recovers",
	"runs out of memory",
	"cannot start",
	"hits limits and overloads",
	"does anything",
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

const failed = (random: SeededRandom, uptimeMs: number) =>
	random.chance(0.2)
		? exitReport({ uptimeMs, signal: random.pick(["SIGSEGV", "SIGKILL", "SIGABRT"]) })
		: exitReport({ uptimeMs, code: random.int(1, 255) });

/** The longest run of a child that still has `flapThreshold` exits in every window. */
function fastestRunMs(settings: CrashPolicySettings): number {
	return Math.floor(settings.windowMs / Math.max(1, settings.flapThreshold - 1)) - 1;
}

export function createChild(habit: Behaviour, settings: CrashPolicySettings): Child {
	const { windowMs } = settings;
	const ends: Record<Behaviour, (random: SeededRandom) => ExitReport> = {
		"dies at once": (random) => failed(random, random.int(0, fastestRunMs(settings))),
		"burns slowly": (random) => failed(random, random.int(windowMs / 2, windowMs * 3)),
		"ends cleanly at once": (random) =>
			exitReport({ uptimeMs: random.int(0, fastestRunMs(settings)), code: 0 }),
		"works and ends cleanly": (random) =>
			exitReport({ uptimeMs: random.int(windowMs, windowMs * 20), code: 0 }),
		recovers: (random) =>
			failed(random, random.chance(0.3) ? random.int(windowMs, windowMs * 90) : random.int(0, 500)),
		"runs out of memory": (random) =>
			exitReport({
				uptimeMs: random.int(0, settings.budget.withinMs / 2),
				code: 137,
				cause: "out_of_memory",
			}),
		"cannot start": (random) =>
			exitReport({ uptimeMs: 0, cause: "spawn_error", permanent: random.chance(0.5) }),
		"hits limits and overloads": (random) =>
			exitReport({
				uptimeMs: random.int(0, windowMs * 4),
				code: random.pick([0, 1]),
				cause: random.pick(["usage_limit", "overloaded", "spawn_error"]),
				resetInMs: random.pick([null, random.int(-10_000, 0), random.int(1, 90_000_000)]),
			}),
		"does anything": (random) => {
			const any = random.pick(BEHAVIOURS.slice(0, -1) as [Behaviour, ...Behaviour[]]);
			return ends[any](random);
		},
	};
	return { habit, end: ends[habit] };
}
