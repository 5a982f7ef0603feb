/** The CLI's reference page, from the command tree itself. */

import { GENERATED, table } from "./markdown.mjs";

/**
 * @param {import("commander").Command} program
 * @returns {string}
 */
export function renderCliPage(program) {
	const sections = leavesOf(program, ["reeve"]).map(({ command, path }) => {
		const args = command.registeredArguments.map((argument) => ({
			name: bracket(argument),
			meaning: argument.description,
			value: argument.defaultValue,
		}));
		const options = command.options.map((option) => ({
			name: option.flags,
			meaning: option.mandatory ? `${option.description} (required)` : option.description,
			value: option.defaultValue,
		}));
		const rows = [...args, ...options].map(({ name, meaning, value }) => [
			`\`${name}\``,
			meaning,
			value === undefined ? "" : `\`${value}\``,
		]);
		const usage = [...path, ...args.map((argument) => argument.name), "[options]"];
		return [
			`## ${path.join(" ")}`,
			[command.description(), ...aliasesOf(command, path)].join(" "),
			`\`\`\`\n${usage.join(" ")}\n\`\`\``,
			table(["option", "meaning", "default"], rows),
		].join("\n\n");
	});
	return `${GENERATED}
# Command line

Results go to stdout, everything else to stderr. Colors are only used on a terminal; \`NO_COLOR\` turns
them off. Every command accepts \`--json\`. Exit codes: 0 success, 1 failed, 2 invalid arguments or
fleet file, 3 no daemon, 4 not found, 5 refused. \`reeve --version\` prints the version,
\`reeve help COMMAND\` the help of a command.

Write an agent as \`project:agent\`, or as its name or a prefix of its name if that is unique. A project takes precedence over an agent
with the same name. For tasks and plans a unique prefix or suffix of the id is enough; for tokens the name or a prefix of the id. An
ambiguous short form is rejected with a list of the candidates.

${sections.join("\n\n")}
`;
}

/**
 * @param {import("commander").Command} command
 * @param {string[]} path
 */
function aliasesOf(command, path) {
	const names = command.aliases().map((alias) => `\`${[...path.slice(0, -1), alias].join(" ")}\``);
	return names.length === 0 ? [] : [`Also: ${names.join(", ")}.`];
}

/**
 * Commands that do something, with the words that lead to each.
 *
 * @param {import("commander").Command} parent
 * @param {string[]} path
 * @returns {{ command: import("commander").Command, path: string[] }[]}
 */
function leavesOf(parent, path) {
	// Without those that only programs call.
	const shown = parent.createHelp().visibleCommands(parent);
	return parent.commands.flatMap((command) => {
		if (!shown.includes(command)) return [];
		const own = [...path, command.name()];
		return command.commands.length === 0 ? [{ command, path: own }] : leavesOf(command, own);
	});
}

/** @param {import("commander").Argument} argument */
function bracket(argument) {
	const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
	return argument.required ? `<${name}>` : `[${name}]`;
}
