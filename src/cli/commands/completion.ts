/** `reeve completion`: the script for a shell, and the words that it offers. */

import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { CLI_EXIT } from "../../core/errors.js";
import { plainLine } from "../../core/safe-text.js";
import { completeWords } from "../complete-words.js";
import { connect } from "../connect.js";
import type { COMPLETION_SHELLS } from "../groups/group.js";
import type { Output } from "../output.js";

/** The user is waiting after pressing Tab. */
const ANSWER_MS_MAX = 500;

export async function runCompletion(
	shell: (typeof COMPLETION_SHELLS)[number],
	{ json }: { readonly json?: boolean },
	output: Output,
): Promise<number> {
	const file = new URL(`../../../completions/reeve.${shell}`, import.meta.url);
	const script = await readFile(file, "utf8");
	if (json) output.json({ shell, script });
	else output.result(script.trimEnd());
	return CLI_EXIT.done;
}

export async function runCompleteWords(
	program: Command,
	typed: readonly string[],
	{ json }: { readonly json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const { words, wantsAgents } = completeWords(program, typed);
	const agents = wantsAgents ? await listAgents(env) : [];
	const fits = [...words, ...agents].filter((word) => word.startsWith(typed.at(-1) ?? ""));
	if (json) output.json(fits);
	else if (fits.length > 0) output.result(fits.map(plainLine).join("\n"));
	return CLI_EXIT.done;
}

/** The projects and agents of the daemon; none if it does not respond in time. */
async function listAgents(env: NodeJS.ProcessEnv): Promise<readonly string[]> {
	try {
		const { client } = connect(env);
		const signal = AbortSignal.timeout(ANSWER_MS_MAX);
		const { agents } = await client.call("GET /api/v1/agents", { signal });
		return [...new Set(agents.flatMap(({ project, id }) => [project, id]))];
	} catch {
		return [];
	}
}
