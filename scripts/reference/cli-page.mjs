/** The CLI's reference page, from the command tree itself. */

import { GENERATED, table } from "./markdown.mjs";

/**
 * @param {import("commander").Command} program
 * @returns {string}
 */
export function renderCliPage(program) {
	const sections = program.commands.map((command) => {
		const args = command.registeredArguments.map((argument) => ({
			name: argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
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
		const usage = ["reeve", command.name(), ...args.map((argument) => argument.name), "[options]"];
		return [
			`## reeve ${command.name()}`,
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
