/** The words that can follow on the command line, for shell completion. */

import type { Command, Option } from "commander";

export interface Completion {
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
