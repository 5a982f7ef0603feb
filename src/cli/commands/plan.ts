/** `reeve plan`: runs graphs of tasks and shows their progress. */

import type { Client } from "../../client/client.js";
import { loadPlan } from "../../config/load.js";
import type { KnownAgents } from "../../config/plan-file.js";
import { renderProblem } from "../../config/problem.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { PLAN_STATUSES } from "../../core/plan.js";
import type { PlanDetailJson } from "../../http/contract/plans.js";
import { checkKey, parseChoice, parsePositive, parseSince } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { resolvePlan } from "../resolve.js";
import { renderPlanTable, renderPlanTree } from "../task-table.js";
import { printOnInterrupt, waitForEnd } from "../wait-for-end.js";

/** Short, so that the display is up to date. */
const POLL_MS = 500;

export async function runPlan(
	file: string,
	options: { idempotencyKey?: string; wait: boolean; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	// Validated first without a daemon: problems of the file do not depend on it.
	refuseProblems(await loadPlan(file));
	const { client } = connect(env);
	const plan = refuseProblems(await loadPlan(file, await readKnownAgents(client)));
	const idempotencyKey = checkKey(options.idempotencyKey);
	const submitted = await client.call("POST /api/v1/plans", {
		...(idempotencyKey !== undefined && { idempotencyKey }),
		body: plan,
	});
	const place = submitted.plan_id;
	if (!options.wait) {
		if (options.json) output.json(submitted);
		else output.result(place);
		return CLI_EXIT.done;
	}
	const watch = createPlanWatch(output);
	const look = () =>
		client.call("GET /api/v1/plans/:id", {
			place,
			query: { wait: `${POLL_MS}ms` },
			signal: AbortSignal.timeout(POLL_MS + 10_000),
		});
	const ended = await printOnInterrupt(
		() => output.note(`\nthe plan continues: \`reeve plan show ${place}\``),
		waitForEnd(look, isOver, (plan) => watch.show(plan), `reeve plan show ${place}`),
	);
	watch.end();
	printPlan(ended, options, output);
	return ended.status === "succeeded" ? CLI_EXIT.done : CLI_EXIT.failed;
}

function refuseProblems(loaded: Awaited<ReturnType<typeof loadPlan>>) {
	if (loaded.ok) return loaded.plan;
	const problems = loaded.problems.map(renderProblem).join("\n");
	throw new ReeveError("plan_file_invalid", `the plan file is invalid:\n${problems}`);
}

async function readKnownAgents(client: Client): Promise<KnownAgents> {
	const { agents } = await client.call("GET /api/v1/agents");
	return new Map(agents.map(({ id, kind }) => [id, { callable: kind !== "session" }]));
}

export async function runPlanList(
	options: { status?: string; since?: string; lines: string; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { status, since } = options;
	const query = {
		limit: parsePositive(options.lines, "--lines"),
		...(status !== undefined && { status: parseChoice(status, PLAN_STATUSES, "--status") }),
		...(since !== undefined && { since: parseSince(since) }),
	};
	const { plans } = await connect(env).client.call("GET /api/v1/plans", { query });
	if (options.json) output.json(plans);
	else if (plans.length === 0) output.note("no plans");
	else for (const line of renderPlanTable(plans, output, Date.now())) output.result(line);
	return CLI_EXIT.done;
}

export async function runPlanShow(
	id: string,
	options: { json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const place = await resolvePlan(id, client);
	printPlan(await client.call("GET /api/v1/plans/:id", { place }), options, output);
	return CLI_EXIT.done;
}

export async function runPlanCancel(
	id: string,
	options: { json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const place = await resolvePlan(id, client);
	const plan = await client.call("POST /api/v1/plans/:id/cancel", { place });
	printPlan(plan, options, output);
	return plan.status === "cancelled" ? CLI_EXIT.done : CLI_EXIT.failed;
}

/** An aborted plan may have tasks that are still being stopped. */
function isOver({ ended_at: endedAt, tasks }: PlanDetailJson): boolean {
	return endedAt !== null && tasks.every((task) => task.ended_at !== null);
}

function printPlan(plan: PlanDetailJson, { json }: { json?: boolean }, output: Output): void {
	if (json) {
		output.json(plan);
		return;
	}
	for (const line of renderPlanTree(plan, output, Date.now())) output.result(line);
	output.note(`plan ${plan.plan_id} ${plan.status}: ${plan.reason}`);
}

/*
 * The progress of a plan. On a terminal its tree is redrawn in place; elsewhere each change is a line,
 * for logs. Both go to stderr: the result follows at the end.
 */

interface PlanWatch {
	show(plan: PlanDetailJson): void;
	/** Removes the drawn lines. */
	end(): void;
}

function createPlanWatch(output: Output): PlanWatch {
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
				output.note(`${name}: ${status}${status === "queued" ? "" : `: ${reason}`}`);
			}
		},
		end() {},
	};
}
