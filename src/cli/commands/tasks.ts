/** `reeve tasks`: what was asked of agents, and how it went. */

import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import { TASK_STATUSES, type TaskStatus } from "../../core/task.js";
import { renderElapsed } from "../../core/units.js";
import type { TaskDetailJson } from "../../http/contract/tasks.js";
import {
	checkAgentId,
	countOf,
	parsePositive,
	parseSince,
	refuseUnknownAgent,
} from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { plainLine } from "../sanitize.js";
import { ageOf, renderTaskTable, statusColor } from "../task-table.js";

export interface TaskListOptions {
	readonly agent?: string;
	readonly status?: string;
	readonly plan?: string;
	readonly since?: string;
	readonly lines: string;
	readonly json?: boolean;
}

export async function runTaskList(
	options: TaskListOptions,
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const { agent, status, plan, since } = options;
	const query = {
		limit: parsePositive(options.lines, "--lines"),
		...(agent !== undefined && { agent: checkAgentId(agent) }),
		...(status !== undefined && { status: checkStatus(status) }),
		...(plan !== undefined && { plan }),
		...(since !== undefined && { since: parseSince(since) }),
	};
	const { client } = connect(env);
	const { tasks } = await client.call("GET /api/v1/tasks", { query });
	if (tasks.length === 0 && agent !== undefined) await refuseUnknownAgent(client, agent);
	if (options.json) output.json(tasks);
	else if (tasks.length === 0) output.say("no tasks");
	else for (const line of renderTaskTable(tasks, output, Date.now())) output.result(line);
	return CLI_EXIT.done;
}

export async function runTaskShow(
	place: string,
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const task = await connect(env).client.call("GET /api/v1/tasks/:id", { place });
	if (options.json) output.json(task);
	else for (const line of describeTask(task, output, Date.now())) output.result(line);
	return CLI_EXIT.done;
}

export async function runTaskCancel(
	place: string,
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const task = await connect(env).client.call("POST /api/v1/tasks/:id/cancel", { place });
	if (options.json) output.json(task);
	else output.result(`${place}: ${task.status}`);
	return task.status === "cancelled" ? CLI_EXIT.done : CLI_EXIT.failed;
}

function checkStatus(status: string): TaskStatus {
	const known = TASK_STATUSES.find((each) => each === status);
	if (known !== undefined) return known;
	const hint = `It is one of ${TASK_STATUSES.join(", ")}.`;
	throw new ReeveError("usage", `--status cannot be \`${status}\``, hint);
}

function describeTask(task: TaskDetailJson, { colors }: Output, nowMs: number): string[] {
	const line = (name: string, text: string) => `${`${name}:`.padEnd(13)}${plainLine(text)}`;
	const optional = (name: string, text: string | null) => (text === null ? [] : [line(name, text)]);
	const status = `${task.status}, ${countOf(task.attempts.length, "attempt")} of ${task.max_attempts}`;
	return [
		line("task", task.task_id),
		line("asked", `${task.agent} ${task.action}, ${ageOf(task.created_at, nowMs)} ago`),
		`${"status:".padEnd(13)}${statusColor(task.status, colors)(status)}`,
		line("reason", task.reason),
		...optional("next try", task.next_attempt_at),
		...optional("replays", task.replay_of),
		...optional("replayed as", task.replayed_as),
		...(task.discarded ? [line("discarded", "by the operator")] : []),
		line("plan", task.plan_id),
		line("correlation", task.correlation_id),
		"payload:",
		...indented(JSON.stringify(task.payload, null, 2)),
		...(task.result === undefined
			? []
			: ["result:", ...indented(JSON.stringify(task.result, null, 2))]),
		...task.attempts.flatMap((attempt) => describeAttempt(attempt, task, colors)),
	];
}

function describeAttempt(
	attempt: TaskDetailJson["attempts"][number],
	task: TaskDetailJson,
	colors: Output["colors"],
): string[] {
	const { n, started_at: startedAt, ended_at: endedAt, error, log = "" } = attempt;
	const took = renderElapsed(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)));
	// Only the last attempt of a task that succeeded has an answer.
	const without = task.status === "succeeded" ? colors.green("answered") : "called off";
	const how =
		error === undefined ? without : colors.red(`${error.kind}: ${plainLine(error.message)}`);
	return [`attempt ${n}, ${startedAt}, took ${took}: ${how}`, ...indented(log.trimEnd())];
}

function indented(text: string): string[] {
	return text === "" ? [] : text.split("\n").map((each) => `  ${plainLine(each)}`);
}
