/** `reeve call`: one request to an agent. Its result goes to stdout, everything else to stderr. */

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { isTooDeep, JSON_DEPTH_MAX } from "../../core/json-depth.js";
import { plainLine, safeJson } from "../../core/safe-text.js";
import { isEnded } from "../../core/task.js";
import { parseDuration } from "../../core/units.js";
import type { TaskDetailJson } from "../../http/contract/tasks.js";
import { checkKey, invalidValue, parsePositive } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { resolveAgent } from "../resolve.js";
import { POLL_MS, printOnInterrupt, waitForEnd } from "../wait-for-end.js";

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
	name: string,
	action: string,
	options: CallCommandOptions,
	{ output, env }: Cli,
): Promise<number> {
	if (action === "") {
		throw new ReeveError("usage", "the action is empty", "Pass the action to run.");
	}
	const submission = await readSubmission(options);
	const idempotencyKey = checkKey(options.idempotencyKey);
	const { client } = connect(env);
	const body = { agent: await resolveAgent(name, client), action, ...submission };
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
			place,
			query: { wait: `${POLL_MS}ms` },
			signal: AbortSignal.timeout(POLL_MS + 10_000),
		});
	const ended = await printOnInterrupt(
		() => output.note(`\nthe task continues: \`reeve tasks show ${place}\``),
		waitForEnd(
			look,
			({ status }) => isEnded(status),
			({ status, reason }) => output.progress?.(isEnded(status) ? null : `${status}: ${reason}`),
			`reeve tasks show ${place}`,
		),
	);
	return printEnd(ended, options, output);
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
	const hint = "Use a whole number above 0 with a unit: 500ms, 10s, 5m, 1h.";
	throw invalidValue("--timeout", text, hint);
}

function parseInteger(text: string, option: string): number {
	if (/^-?\d{1,9}$/.test(text)) return Number(text);
	throw invalidValue(option, text, "Use a whole number.");
}

function hintFor({ task_id: id, agent, attempts, error }: TaskDetailJson): string {
	if (error?.code !== "agent_unavailable") return `\`reeve tasks show ${id}\` lists every attempt`;
	if (attempts.length > 0) return `\`reeve ps ${agent}\` shows the state of the agent`;
	return `\`reeve explain ${agent}\` shows the cause, \`reeve dead-letters replay ${id}\` runs it again`;
}

function printEnd(task: TaskDetailJson, { json }: CallCommandOptions, output: Output): number {
	if (json) output.json(task);
	if (task.status === "succeeded") {
		if (!json) output.result(safeJson(task.result ?? null, 2));
		return CLI_EXIT.done;
	}
	if (!json) {
		const { sayColors } = output;
		const what = plainLine(`${task.agent} ${task.action}: ${task.reason}`);
		output.note(`${sayColors.red("error")}: ${what}`);
		if (task.response !== undefined) {
			output.note(plainLine(`response: ${JSON.stringify(task.response)}`));
		}
		output.note(`${sayColors.dim("hint")}: ${hintFor(task)}`);
	}
	return CLI_EXIT.failed;
}

/** `'{"a": 1}'`, `@file.json`, or `-` for stdin. */
async function readJsonArgument(argument: string, option: string): Promise<unknown> {
	const [source, where] = await readSource(argument, option);
	try {
		const value: unknown = JSON.parse(source);
		if (!isTooDeep(value, source.length)) return value;
	} catch (error) {
		const hint =
			argument === source
				? `A JSON string needs its own quotes: ${option} '"text"'. Use \`@file.json\` for a file, \`-\` for stdin.`
				: "It must contain one JSON value.";
		throw new ReeveError("usage", `${where} is not valid JSON: ${(error as Error).message}`, hint);
	}
	throw new ReeveError("body_too_deep", `${where} is nested deeper than ${JSON_DEPTH_MAX} levels`);
}

async function readSource(
	argument: string,
	option: string,
): Promise<[text: string, where: string]> {
	if (argument === "-") return [await text(process.stdin), "stdin"];
	if (!argument.startsWith("@")) return [argument, option];
	const path = argument.slice(1);
	try {
		return [await readFile(path, "utf8"), path];
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		throw new ReeveError("usage", `cannot read ${path} (${code})`, "Check the path after the @.");
	}
}
