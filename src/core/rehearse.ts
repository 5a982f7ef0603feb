/**
 * Simulates the crash policy over a sequence of exits, with every delay honoured. Used for
 * explanations, never for supervision.
 */

import { decideAfterExit, decideResume } from "./crash-policy.js";
import type { CrashAction, CrashContext, CrashState, ExitClass } from "./crash-state.js";
import type { ExitKind, ExitReport } from "./exit.js";
import type { PolicyState } from "./states.js";

/** One step of a rehearsal: an exit, or a resume by the operator. */
export type RehearsalStep =
	| { readonly type: "exit"; readonly report: ExitReport }
	| { readonly type: "resume" };

/** One step of a rehearsal and its decision. */
export interface RehearsalRow {
	/** When it happens, counted from the first start. */
	readonly atMs: number;
	readonly step: RehearsalStep;
	readonly kind: ExitKind | null;
	readonly class: ExitClass | null;
	readonly policy: PolicyState;
	readonly action: CrashAction;
	readonly reason: string;
}

/** The decisions of the crash policy over a sequence of exits. */
export interface Rehearsal {
	readonly rows: readonly RehearsalRow[];
	/** Exits that were not reached because the agent was halted before. */
	readonly unreached: number;
}

/** Simulates the crash policy over a sequence of exits, without running anything. */
export function rehearse(
	start: CrashState,
	steps: readonly RehearsalStep[],
	context: CrashContext,
): Rehearsal {
	const rows: RehearsalRow[] = [];
	let state = start;
	let startedAtMs = 0;
	let unreached = 0;
	for (const step of steps) {
		if (step.type === "exit" && state.policy === "halted") {
			unreached++;
			continue;
		}
		const atMs = startedAtMs + (step.type === "exit" ? step.report.uptimeMs : 0);
		const decision =
			step.type === "exit"
				? decideAfterExit(state, step.report, context)
				: { ...decideResume(state), kind: null, class: null };
		const { action, reason, kind, class: exitClass } = decision;
		state = decision.state;
		rows.push({ atMs, step, kind, class: exitClass, policy: state.policy, action, reason });
		// If the operator has to decide, the simulation assumes an immediate answer.
		startedAtMs = atMs + ("afterMs" in action ? action.afterMs : 0);
	}
	return { rows, unreached };
}
