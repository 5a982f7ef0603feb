/** `reeve call`: one request to an agent. What it answers goes to stdout, everything else to stderr. */

import { CLI_EXIT, ERRORS, type ErrorCode, ReeveError } from "../../core/errors.js";
import { isEnded } from "../../core/task.js";
import { parseDuration } from "../../core/units.js";
import type { TaskDetailJson } from "../../http/contract/tasks.js";
import { checkAgentId, checkKey, parsePositive } from "../arguments.js";
import { connect } from "../connect.js";
import { readJsonArgument } from "../json-argument.js";
import type { Output } from "../output.js";
import { LOOK_MS, sayOnInterrupt, waitForEnd } from "../wait-for-end.js";

export interface CallCommandOptions {
	readonly payload?: string;
	readonly context?: string;
	readonly timeout?: string;
	readonly attempts?: string;
	readonly priority?: string;
	readonly once?: boolean;
	readonly idempotencyKey?: string;
	readonly wait: boolean;
	readonly json?: boolean;
}

export async function runCall(
	agent: string,
	action: string,
	options: CallCommandOptions,
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	checkAgentId(agent);
	if (action === "") {
		throw new ReeveError("usage", "the action is empty", "Name what the agent is to do.");
	}
	const body = { agent, action, ...(await readSubmission(options)) };
	const idempotencyKey = checkKey(options.idempotencyKey);
	const { client } = connect(env);
	const submitted = await client.call("POST /api/v1/tasks", {
		...(idempotencyKey !== undefined && { idempotencyKey }),
		body,
	});
	const place = submitted.task_id;
	if (!options.wait) {
		if (options.json) output.json(submitted);
		else output.result(place);
		return CLI_EXIT.done;
	}
	const look = () =>
		client.call("GET /api/v1/tasks/:id", {
			...{ place, query: { wait: `${LOOK_MS}ms` } },
			signal: AbortSignal.timeout(LOOK_MS + 10_000),
		});
	const ended = await sayOnInterrupt(
		() => output.say(`\nthe task goes on: \`reeve tasks show ${place}\``),
		waitForEnd(
			look,
			({ status }) => isEnded(status),
			({ status, reason }) => output.progress?.(isEnded(status) ? null : `${status}: ${reason}`),
		),
	);
	return tellEnd(ended, options, output);
}

async function readSubmission(options: CallCommandOptions) {
	const { payload, context, timeout, attempts, priority, once } = options;
	return {
		...(payload !== undefined && { payload: await readJsonArgument(payload, "--payload") }),
		...(context !== undefined && { context: await readJsonArgument(context, "--context") }),
		...(timeout !== undefined && { timeout_ms: parseAttemptTimeout(timeout) }),
		...(attempts !== undefined && { max_attempts: parsePositive(attempts, "--attempts") }),
		...(priority !== undefined && { priority: parseInteger(priority, "--priority") }),
		...(once === true && { idempotent: false }),
	};
}

function parseAttemptTimeout(text: string): number {
	const ms = parseDuration(text);
	if (ms !== null && ms > 0) return ms;
	const hint = "It is a whole number, more than 0, with its unit: 500ms, 10s, 5m, 1h.";
	throw new ReeveError("usage", `--timeout cannot be \`${text}\``, hint);
}

function parseInteger(text: string, option: string): number {
	if (/^-?\d{1,9}$/.test(text)) return Number(text);
	throw new ReeveError("usage", `${option} cannot be \`${text}\``, "It is a whole number.");
}

function hintFor({ task_id: id, agent, attempts, error }: TaskDetailJson): string {
	if (error?.code !== "agent_unavailable") return `\`reeve tasks show ${id}\` has every attempt`;
	if (attempts.length > 0) return `\`reeve ps ${agent}\` shows how the agent is`;
	return `it is called again after the cooldown, or at once with \`reeve resume ${agent}\``;
}

function tellEnd(task: TaskDetailJson, { json }: CallCommandOptions, output: Output): number {
	if (json) output.json(task);
	if (task.status === "succeeded") {
		if (!json) output.result(JSON.stringify(task.result ?? null, null, 2));
		return CLI_EXIT.done;
	}
	const code = (task.error?.code ?? "cancelled") as ErrorCode;
	if (!json) {
		const { sayColors } = output;
		output.say(`${sayColors.red("error")}: ${task.agent} ${task.action}: ${task.reason}`);
		output.say(`${sayColors.dim("hint")}: ${hintFor(task)}`);
	}
	return ERRORS[code].cliExit;
}
