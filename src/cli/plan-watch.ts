/**
 * A plan while it runs. On a terminal its tree is drawn over itself; elsewhere each change is a line, so
 * that a log of it can be read. Both go to stderr: the result comes when it has ended.
 */

import type { PlanDetailJson } from "../http/contract/plans.js";
import type { Output } from "./output.js";
import { renderPlanTree } from "./task-table.js";

export interface PlanWatch {
	show(plan: PlanDetailJson): void;
	/** Takes away what was drawn. */
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
