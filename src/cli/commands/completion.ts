/** `reeve completion`: the script for a shell, and the words that it offers. */

import { readFile } from "node:fs/promises";
import type { Command, Option } from "commander";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { plainLine } from "../../core/safe-text.js";
import { connect } from "../connect.js";
import type { COMPLETION_SHELLS } from "../groups/group.js";
import type { Cli } from "../output.js";

/** The user is waiting after pressing Tab. */
const ANSWER_MS_MAX = 500;

export async function runCompletion(
	shell: (typeof COMPLETION_SHELLS)[number],
	{ json }: { readonly json?: boolean },
	{ output }: Cli,
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
	{ output, env }: Cli,
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

interface Completion {
	readonly words: readonly string[];
	/** Whether agents and projects are valid too. */
	readonly wantsAgents: boolean;
}

const NONE: Completion = { words: [], wantsAgents: false };
const AGENT_ARGUMENTS = ["agent", "scope"];

/** The last word is being completed; it may be empty. */
export function completeWords(program: Command, typed: readonly string[]): Completion {
	const before = typed.slice(0, -1);
	let command = program;
	let given = 0;
	let awaits: Option | null = null;
	for (const word of before) {
		if (awaits !== null) {
			awaits = null;
		} else if (word.startsWith("-")) {
			const option = findOption(command, word);
			awaits = option?.required === true && !word.includes("=") ? option : null;
		} else {
			const next = command.commands.find((each) => [each.name(), ...each.aliases()].includes(word));
			if (next === undefined) given += 1;
			else command = next;
		}
	}
	if (awaits !== null) return { words: awaits.argChoices ?? [], wantsAgents: false };
	if (typed.at(-1)?.startsWith("-")) return { words: optionsOf(command), wantsAgents: false };
	const names = command.createHelp().visibleCommands(command);
	if (names.length > 0) return { words: names.map((each) => each.name()), wantsAgents: false };
	const { registeredArguments } = command;
	const last = registeredArguments.at(-1);
	const argument = registeredArguments[given] ?? (last?.variadic ? last : undefined);
	if (argument === undefined) return NONE;
	return {
		words: argument.argChoices ?? [],
		wantsAgents: AGENT_ARGUMENTS.includes(argument.name()),
	};
}

function findOption(command: Command, word: string): Option | undefined {
	const [name] = word.split("=");
	return command.options.find((option) => option.long === name || option.short === name);
}

const optionsOf = (command: Command) =>
	command
		.createHelp()
		.visibleOptions(command)
		.flatMap(({ long }) => long ?? []);
