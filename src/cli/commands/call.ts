/** `reeve call`: one request to an agent. What it answers goes to stdout, everything else to stderr. */

import { CLI_EXIT, ERRORS, type ErrorCode, ReeveError } from "../../core/errors.js";
import { isEnded } from "../../core/task.js";
import type { TaskDetailJson } from "../../http/contract/tasks.js";
import { checkAgentId, parseCount, parseTimeout } from "../arguments.js";
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
	const body = { agent, action, ...(await readSubmission(options)) };
	const { idempotencyKey } = options;
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
		...(timeout !== undefined && { timeout_ms: parseTimeout(timeout) }),
		...(attempts !== undefined && { max_attempts: parseCount(attempts, "--attempts") }),
		...(priority !== undefined && { priority: parseInteger(priority, "--priority") }),
		...(once === true && { idempotent: false }),
	};
}

function parseInteger(text: string, option: string): number {
	if (/^-?\d{1,9}$/.test(text)) return Number(text);
	throw new ReeveError("usage", `${option} cannot be \`${text}\``, "It is a whole number.");
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
		output.say(`${sayColors.dim("hint")}: \`reeve tasks show ${task.task_id}\` has every attempt`);
	}
	return ERRORS[code].cliExit;
}
