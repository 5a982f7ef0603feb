/** `reeve dead-letters`: lists, shows, replays and discards permanently failed tasks. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import type { TaskDetailJson } from "../../http/contract/tasks.js";
import { countOf, parsePositive, parseSince } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { refuseUnknownAgent, resolveAgent, resolveTask } from "../resolve.js";
import { renderTaskTable } from "../task-table.js";

interface Choice {
	readonly agent?: string;
	readonly since?: string;
}

export async function runLetterList(
	options: Choice & { lines: string; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const limit = parsePositive(options.lines, "--lines");
	const { client } = connect(env);
	const query = { ...(await queryOf(options, client)), limit };
	const { tasks, incomplete } = await client.call("GET /api/v1/dead-letters", { query });
	if (incomplete) output.note(`shared tasks are missing: ${incomplete}`);
	if (tasks.length === 0) await refuseUnknownAgent(client, query.agent);
	if (options.json) output.json(tasks);
	else if (tasks.length === 0) output.note("no dead letters");
	else for (const line of renderTaskTable(tasks, output, Date.now())) output.result(line);
	return CLI_EXIT.done;
}

/** Replays or discards the named dead letters, or all that match the options. */
export async function runLetters(
	verb: "replay" | "discard",
	ids: readonly string[],
	options: Choice & { all?: boolean; json?: boolean },
	{ output, env }: Cli,
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
	else if (chosen.length !== 1) output.note(`${countOf(chosen.length, "dead letter")} ${verb}ed`);
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
		throw new ReeveError(
			"usage",
			"ids and filter options cannot be combined",
			"Remove one of them.",
		);
	}
	// All are looked up first, so that a typo in the last one does not leave the work half done.
	if (ids.length > 0) {
		const resolved: string[] = [];
		for (const id of ids) resolved.push(await resolveTask(id, client));
		return [...new Set(resolved)];
	}
	if (!byOptions) {
		const hint = `\`reeve dead-letters ls\` lists the ids. With filters: \`reeve dead-letters ${verb} --all --agent web:git --since 1h\`.`;
		throw new ReeveError("usage", "specify task ids or --all", hint);
	}
	const choice = await queryOf(options, client);
	const chosen: string[] = [];
	let before: string | null = null;
	do {
		const query = { ...choice, limit: PAGE, ...(before !== null && { before }) };
		const page: { tasks: readonly { task_id: string }[]; next: string | null } = await client.call(
			"GET /api/v1/dead-letters",
			// `--all` means this host: remotes have people of their own.
			{ query, ownOnly: true },
		);
		chosen.push(...page.tasks.map(({ task_id: id }) => id));
		before = page.next;
	} while (before !== null);
	if (chosen.length === 0) await refuseUnknownAgent(client, choice.agent);
	// Oldest first, in the order of their submission.
	return chosen.toReversed();
}

async function queryOf({ agent, since }: Choice, client: Client) {
	return {
		...(agent !== undefined && { agent: await resolveAgent(agent, client) }),
		...(since !== undefined && { since: parseSince(since) }),
	};
}
