/**
 * The progress of a plan. On a terminal its tree is redrawn in place; elsewhere each change is a line,
 * for logs. Both go to stderr: the result follows at the end.
 */

import type { PlanDetailJson } from "../http/contract/plans.js";
import type { Output } from "./output.js";
import { renderPlanTree } from "./task-table.js";

export interface PlanWatch {
	show(plan: PlanDetailJson): void;
	/** Removes the drawn lines. */
	end(): void;
}

export function createPlanWatch(output: Output): PlanWatch {
	return output.progress === null ? createLines(output) : createDrawing(output);
}

function createDrawing(output: Output): PlanWatch {
	return {
		show(plan) {
			const shown = { colors: output.sayColors, columns: output.sayColumns };
			output.redraw(renderPlanTree(plan, shown, Date.now()));
		},
		end: () => output.redraw([]),
	};
}

function createLines(output: Output): PlanWatch {
	const seen = new Map<string, string>();
	return {
		show({ tasks }) {
			for (const { name, status, reason } of tasks) {
				if (seen.get(name) === status) continue;
				seen.set(name, status);
				output.say(`${name}: ${status}${status === "queued" ? "" : `: ${reason}`}`);
			}
		},
		end() {},
	};
}
