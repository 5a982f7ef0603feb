/** Tasks and plans as tables and trees. */

import { renderElapsed } from "../core/units.js";
import type { PlanDetailJson, PlanJson } from "../http/contract/plans.js";
import type { TaskJson } from "../http/contract/tasks.js";
import type { Output } from "./output.js";
import { type Cell, renderTable } from "./table.js";

type Shown = Pick<Output, "colors" | "columns">;

const TASK_HEAD = ["TASK", "AGENT", "ACTION", "STATUS", "HOST", "TRIES", "AGE", "REASON"];
const TASK_DROPPABLE = ["AGE", "TRIES", "ACTION", "HOST"];
const PLAN_HEAD = ["PLAN", "NAME", "STATUS", "AGE", "REASON"];

export function renderTaskTable(tasks: readonly TaskJson[], shown: Shown, nowMs: number): string[] {
	// Only tasks that the hosts of a cluster share have one.
	const withHost = tasks.some(({ host }) => typeof host === "string");
	const rows = tasks.map((task): Cell[] => [
		{ text: task.task_id },
		{ text: task.agent },
		{ text: task.action },
		{ text: task.status, paint: statusColor(task.status, shown.colors) },
		...(withHost ? [{ text: task.host ?? "-" }] : []),
		{ text: `${task.attempts.length}/${task.max_attempts}` },
		{ text: ageOf(task.created_at, nowMs) },
		{ text: task.reason, cut: true },
	]);
	const head = TASK_HEAD.filter((name) => withHost || name !== "HOST");
	return renderTable(head, rows, shown.columns, TASK_DROPPABLE);
}

export function renderPlanTable(plans: readonly PlanJson[], shown: Shown, nowMs: number): string[] {
	const rows = plans.map((plan): Cell[] => [
		{ text: plan.plan_id },
		{ text: plan.name },
		{ text: plan.status, paint: statusColor(plan.status, shown.colors) },
		{ text: ageOf(plan.created_at, nowMs) },
		{ text: plan.reason, cut: true },
	]);
	return renderTable(PLAN_HEAD, rows, shown.columns, ["AGE"]);
}

const MARKS: Readonly<Record<string, string>> = {
	succeeded: "✓",
	dead_lettered: "✗",
	failed: "✗",
	cancelled: "-",
	in_progress: "●",
	retried: "↻",
};

/** The tasks of a plan, each below its dependencies, with status and duration. */
export function renderPlanTree(plan: PlanDetailJson, shown: Shown, nowMs: number): string[] {
	const depths = depthsOf(plan.tasks);
	const names = plan.tasks.map(({ name }) => `${"  ".repeat(depths.get(name) ?? 0)}${name}`);
	const rows = plan.tasks.map((task, index): Cell[] => [
		{ text: MARKS[task.status] ?? "·", paint: statusColor(task.status, shown.colors) },
		{ text: names[index] ?? task.name },
		{ text: task.status, paint: statusColor(task.status, shown.colors) },
		{ text: `${task.agent} ${task.action}` },
		{ text: `${task.attempts.length}/${task.max_attempts}` },
		{ text: tookOf(task, nowMs) },
		{ text: task.reason, cut: true },
	]);
	return renderTable(
		["", "TASK", "STATUS", "WHAT", "TRIES", "TOOK", "REASON"],
		rows,
		shown.columns,
		[...["TRIES", "WHAT", "TOOK"]],
	);
}

/** The length of the longest dependency chain before each task. */
function depthsOf(tasks: readonly TaskJson[]): ReadonlyMap<string, number> {
	const needs = new Map(tasks.map((task) => [task.name, task.depends_on]));
	const depths = new Map<string, number>();
	const depthOf = (name: string): number => {
		const known = depths.get(name);
		if (known !== undefined) return known;
		const before = (needs.get(name) ?? []).map((needed) => depthOf(needed) + 1);
		const depth = Math.max(0, ...before);
		depths.set(name, depth);
		return depth;
	};
	for (const { name } of tasks) depthOf(name);
	return depths;
}

/** From its first attempt to its end, or to now. */
function tookOf(task: TaskJson, nowMs: number): string {
	const [first] = task.attempts;
	if (first === undefined) return "-";
	const endMs = task.ended_at === null ? nowMs : Date.parse(task.ended_at);
	return renderElapsed(Math.max(0, endMs - Date.parse(first.started_at)));
}

export function ageOf(time: string, nowMs: number): string {
	return renderElapsed(Math.max(0, nowMs - Date.parse(time)));
}

export function statusColor(status: string, colors: Output["colors"]): (text: string) => string {
	if (status === "succeeded") return colors.green;
	if (status === "dead_lettered" || status === "failed") return colors.red;
	return status === "cancelled" ? colors.dim : colors.yellow;
}
