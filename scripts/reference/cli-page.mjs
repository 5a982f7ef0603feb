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
			command.description(),
			`\`\`\`\n${usage.join(" ")}\n\`\`\``,
			table(["option", "meaning", "default"], rows),
		].join("\n\n");
	});
	return `${GENERATED}
# The command line

Results go to stdout, everything else to stderr; colours appear only on a terminal, and \`NO_COLOR\`
turns them off there too. Every command takes \`--json\`. Exit codes: 0 done, 1 failed, 2 usage or
fleet file, 3 no daemon, 4 not found, 5 refused. \`reeve --version\` prints the version,
\`reeve help COMMAND\` the help of a command.

${sections.join("\n\n")}
`;
}

/**
 * Commands that do something, with the words that lead to each.
 *
 * @param {import("commander").Command} parent
 * @param {string[]} path
 * @returns {{ command: import("commander").Command, path: string[] }[]}
 */
function leavesOf(parent, path) {
	return parent.commands.flatMap((command) => {
		const own = [...path, command.name()];
		return command.commands.length === 0 ? [{ command, path: own }] : leavesOf(command, own);
	});
}

/** @param {import("commander").Argument} argument */
function bracket(argument) {
	const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
	return argument.required ? `<${name}>` : `[${name}]`;
}
