/** `reeve dead-letters`: what failed for good, and what becomes of it. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT, ReeveError } from "../../core/errors.js";
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
import { renderTaskTable } from "../task-table.js";

interface Choice {
	readonly agent?: string;
	readonly since?: string;
}

export async function runLetterList(
	options: Choice & { lines: string; json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const query = { ...queryOf(options), limit: parsePositive(options.lines, "--lines") };
	const { client } = connect(env);
	const { tasks } = await client.call("GET /api/v1/dead-letters", { query });
	if (tasks.length === 0 && query.agent !== undefined)
		await refuseUnknownAgent(client, query.agent);
	if (options.json) output.json(tasks);
	else if (tasks.length === 0) output.say("no dead letters");
	else for (const line of renderTaskTable(tasks, output, Date.now())) output.result(line);
	return CLI_EXIT.done;
}

/** Replays or discards: those that are named, or all that the options choose. */
export async function runLetters(
	verb: "replay" | "discard",
	ids: readonly string[],
	options: Choice & { all?: boolean; json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const { client } = connect(env);
	const chosen = await chooseLetters(client, verb, ids, options);
	const done: TaskDetailJson[] = [];
	for (const place of chosen) {
		const task = await client.call(`POST /api/v1/dead-letters/:id/${verb}`, { place });
		done.push(task);
		if (options.json) continue;
		output.result(
			verb === "replay" ? `${place}: replayed as ${task.task_id}` : `${place}: discarded`,
		);
	}
	if (options.json) output.json(done);
	else if (chosen.length !== 1) output.say(`${countOf(chosen.length, "dead letter")} ${verb}ed`);
	return CLI_EXIT.done;
}

const PAGE = 500;

async function chooseLetters(
	client: Client,
	verb: string,
	ids: readonly string[],
	options: Choice & { all?: boolean },
): Promise<readonly string[]> {
	const { all, agent, since } = options;
	const byOptions = all === true || agent !== undefined || since !== undefined;
	if (ids.length > 0 && byOptions) {
		throw new ReeveError("usage", "either ids or options that choose, not both", "Leave one out.");
	}
	if (ids.length > 0) return [...new Set(ids)];
	if (!byOptions) {
		const hint = `Name them (\`reeve dead-letters ls\`), or \`reeve dead-letters ${verb} --all --agent web:git --since 1h\`.`;
		throw new ReeveError("usage", `which dead letters to ${verb} is not said`, hint);
	}
	const chosen: string[] = [];
	let before: string | null = null;
	do {
		const query = { ...queryOf(options), limit: PAGE, ...(before !== null && { before }) };
		const page: { tasks: readonly { task_id: string }[]; next: string | null } = await client.call(
			"GET /api/v1/dead-letters",
			{ query },
		);
		chosen.push(...page.tasks.map(({ task_id: id }) => id));
		before = page.next;
	} while (before !== null);
	if (chosen.length === 0 && agent !== undefined) await refuseUnknownAgent(client, agent);
	// Oldest first, in the order in which they were asked for.
	return chosen.toReversed();
}

function queryOf({ agent, since }: Choice) {
	return {
		...(agent !== undefined && { agent: checkAgentId(agent) }),
		...(since !== undefined && { since: parseSince(since) }),
	};
}
