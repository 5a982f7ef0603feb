/** `reeve tasks`: lists, shows and cancels tasks. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { plainLine, safeJson } from "../../core/safe-text.js";
import { TASK_STATUSES, type TaskStatus } from "../../core/task.js";
import { renderElapsed } from "../../core/units.js";
import type { TaskDetailJson } from "../../http/contract/tasks.js";
import { countOf, parseChoice, parsePositive, parseSince } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { refuseUnknownAgent, resolveAgent, resolvePlan, resolveTask } from "../resolve.js";
import { ageOf, renderTaskTable, statusColor } from "../task-table.js";

export interface TaskListOptions {
	readonly agent?: string;
	readonly status?: string;
	readonly plan?: string;
	readonly since?: string;
	readonly lines: string;
	readonly json?: boolean;
}

export async function runTaskList(options: TaskListOptions, { output, env }: Cli): Promise<number> {
	const { agent, status, plan, since } = options;
	const given = {
		limit: parsePositive(options.lines, "--lines"),
		...(status !== undefined && { status: parseChoice(status, TASK_STATUSES, "--status") }),
		...(since !== undefined && { since: parseSince(since) }),
	};
	const { client } = connect(env);
	const query = {
		...given,
		...(agent !== undefined && { agent: await resolveAgent(agent, client) }),
		...(plan !== undefined && { plan: await resolvePlan(plan, client) }),
		counts: "1" as const,
	};
	const { tasks, counts, incomplete } = await client.call("GET /api/v1/tasks", { query });
	if (incomplete) output.note(`shared tasks are missing: ${incomplete}`);
	if (tasks.length === 0) await refuseUnknownAgent(client, query.agent);
	if (options.json) {
		output.json(tasks);
		return CLI_EXIT.done;
	}
	if (tasks.length === 0) output.note("no tasks");
	else for (const line of renderTaskTable(tasks, output, Date.now())) output.result(line);
	if (counts !== undefined) output.note(renderCounts(tasks.length, counts, query.status));
	return CLI_EXIT.done;
}

/** `showing 50 of 1234 tasks: 3 queued, 1 in_progress, 1230 succeeded`. */
function renderCounts(
	shown: number,
	counts: Readonly<Partial<Record<TaskStatus, number>>>,
	status: TaskStatus | undefined,
): string {
	const known = TASK_STATUSES.flatMap((each) =>
		counts[each] ? [[each, counts[each]] as const] : [],
	);
	const all = known.reduce((sum, [, count]) => sum + count, 0);
	const matching = status === undefined ? all : (counts[status] ?? 0);
	const states = known.map(([each, count]) => `${count} ${each}`).join(", ");
	const filter = status === undefined ? "" : ` ${status}`;
	const total = status === undefined ? "" : `of ${countOf(all, "task")}, `;
	const head = `showing ${shown} of ${matching}${filter} ${matching === 1 ? "task" : "tasks"}`;
	return states === "" ? head : `${head}: ${total}${states}`;
}

export async function runTaskShow(
	id: string,
	options: { json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const place = await resolveTask(id, client);
	const task = await client.call("GET /api/v1/tasks/:id", { place });
	if (options.json) output.json(task);
	else for (const line of describeTask(task, output, Date.now())) output.result(line);
	return CLI_EXIT.done;
}

export async function runTaskCancel(
	id: string,
	options: { json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const place = await resolveTask(id, client);
	const task = await client.call("POST /api/v1/tasks/:id/cancel", { place });
	if (options.json) output.json(task);
	else output.result(`${place}: ${task.status}`);
	return task.status === "cancelled" ? CLI_EXIT.done : CLI_EXIT.failed;
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
		...optional("host", task.host ?? null),
		...optional("next attempt", task.next_attempt_at),
		...optional("replays", task.replay_of),
		...optional("replayed as", task.replayed_as),
		...(task.discarded ? [line("discarded", "by the operator")] : []),
		line("plan", task.plan_id),
		line("correlation", task.correlation_id),
		"payload:",
		...indented(safeJson(task.payload, 2)),
		...(task.result === undefined ? [] : ["result:", ...indented(safeJson(task.result, 2))]),
		...task.attempts.flatMap((attempt) => describeAttempt(attempt, task, colors)),
	];
}

function describeAttempt(
	attempt: TaskDetailJson["attempts"][number],
	task: TaskDetailJson,
	colors: Output["colors"],
): string[] {
	const { n, started_at: startedAt, ended_at: endedAt, error, log = "", response } = attempt;
	const took = renderElapsed(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)));
	// Only the last attempt of a succeeded task has a response.
	const without = task.status === "succeeded" ? colors.green("answered") : "cancelled";
	const how =
		error === undefined ? without : colors.red(`${error.kind}: ${plainLine(error.message)}`);
	const where = attempt.host === undefined ? "" : ` on ${attempt.host}`;
	return [
		`attempt ${n}${where}, ${startedAt}, took ${took}: ${how}`,
		...(response === undefined
			? []
			: ["  response:", ...indented(JSON.stringify(response, null, 2)).map((line) => `  ${line}`)]),
		...indented(log.trimEnd()),
	];
}

function indented(text: string): string[] {
	return text === "" ? [] : text.split("\n").map((each) => `  ${plainLine(each)}`);
}
