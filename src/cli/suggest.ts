/** Commands of other tools, and their names in Reeve. */

import type { Command } from "commander";
import { nearest } from "../config/did-you-mean.js";
import { ReeveError } from "../core/errors.js";

const ELSEWHERE: Readonly<Record<string, string>> = {
	status: "`reeve ps` shows the agents, `reeve daemon status` the daemon.",
	rm: "Remove the agent from the fleet file and run `reeve reload`, or stop it with `reeve down`.",
	remove:
		"Remove the agent from the fleet file and run `reeve reload`, or stop it with `reeve down`.",
	delete:
		"Remove the agent from the fleet file and run `reeve reload`, or stop it with `reeve down`.",
	add: "Add the agent to the fleet file and run `reeve reload`.",
	run: "`reeve up` starts the agents of the fleet file, `reeve call AGENT ACTION` runs one request.",
	kill: "`reeve down AGENT --timeout 0s` stops an agent without a grace period.",
	exec: "`reeve attach AGENT` opens an agent's terminal, `reeve send AGENT MESSAGE` sends it a message.",
	tail: "`reeve logs -f AGENT` follows an agent's output.",
	top: "`reeve ps` shows the agents.",
	inspect: "`reeve explain AGENT` explains an agent's state.",
	show: "`reeve explain AGENT` shows an agent, `reeve tasks show ID` a task.",
	describe: "`reeve explain AGENT` explains an agent's state.",
	apply: "`reeve reload` applies the fleet file.",
	config: "`reeve validate` checks the fleet file.",
	check: "`reeve validate` checks the fleet file, `reeve doctor` this machine.",
	task: "`reeve tasks` lists and shows tasks.",
	plans: "`reeve plan` runs and shows plans.",
	version: "`reeve --version` prints the version.",
	login: "`reeve token link` logs a browser in, `reeve token create` creates a token.",
};

/** Makes an unknown command an error with a hint. Options get one from commander. */
export function suggestCommands(program: Command): void {
	const own = Object.entries(ELSEWHERE);
	program.on("command:*", ([typed = ""]: readonly string[]) => {
		const names = program.commands.flatMap((command) => [command.name(), ...command.aliases()]);
		const meant = nearest(typed, names);
		const [, elsewhere] = own.find(([name]) => name === typed) ?? [];
		const guess = meant === null ? "`reeve --help` lists the commands." : `Did you mean ${meant}?`;
		throw new ReeveError("usage", `unknown command \`${typed}\``, elsewhere ?? guess);
	});
}
