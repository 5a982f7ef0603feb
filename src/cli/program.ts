/** The command line: the commands, their arguments, and how errors are printed. */

import { Command, CommanderError } from "commander";
import { nearest } from "../config/did-you-mean.js";
import { CLI_EXIT } from "../core/cli-exit.js";
import { ReeveError } from "../core/errors.js";
import { readVersion } from "../home/version.js";
import { addCallCommands } from "./groups/calls.js";
import { addCompletion } from "./groups/completion.js";
import { addDaemonCommands } from "./groups/daemon.js";
import { addFleetCommands } from "./groups/fleet.js";
import type { Run } from "./groups/group.js";
import { addHostCommands } from "./groups/host.js";
import { addDemo, addExplain, addLocalCommands } from "./groups/local.js";
import { addRemoteCommands } from "./groups/remote.js";
import { addScheduleCommands } from "./groups/schedules.js";
import { addTokenCommands } from "./groups/token.js";
import { addWatchCommands } from "./groups/watch.js";
import { createProcessOutput, type Output } from "./output.js";
import { printError, printJsonError } from "./print-error.js";

export async function runProgram(args: readonly string[]): Promise<number> {
	const output = createProcessOutput(process.env);
	let exitCode: number = CLI_EXIT.done;
	const program = createProgram((load) => async (...args) => {
		const command = (await load()) as (...args: unknown[]) => Promise<number>;
		// The last argument is commander's own command.
		exitCode = await command(...args.slice(0, -1), { output, env: envOf(program) });
	}).configureOutput({
		writeOut: (text) => output.result(text.replace(/\n$/, "")),
		writeErr: (text) => output.note(text.trimEnd()),
	});
	const asJson = wantsJson(args);
	// Without this, Node would print the message of such an error unsanitized.
	process.on("uncaughtException", (error) => process.exit(report(error, output, asJson)));
	try {
		if (args.length === 0) {
			program.outputHelp({ error: true });
			return CLI_EXIT.usage;
		}
		await program.parseAsync(args, { from: "user" });
		return exitCode;
	} catch (error) {
		return report(error, output, asJson);
	}
}

/** The environment of a command, with the remote that `--host` selects. */
function envOf(program: Command): NodeJS.ProcessEnv {
	const { host: named }: { host?: string } = program.opts();
	// An unset variable in a script must not select this host instead.
	if (named === "")
		throw new ReeveError("usage", "--host is empty", "Name a remote, or remove it.");
	const host: unknown = named ?? process.env["REEVE_HOST"];
	return typeof host === "string" && host !== ""
		? { ...process.env, REEVE_HOST: host }
		: process.env;
}

/** Commands that work on one remote. All others concern this host: its files, its daemon, its tokens. */
const ON_REMOTES: ReadonlySet<string> = new Set([
	...["ps", "up", "down", "restart", "resume", "answer", "reply", "send", "inbox", "screen"],
	...["attach", "logs", "events", "explain", "top", "call", "tasks", "plan", "dead-letters"],
	...["schedule", "search", "usage"],
]);

function refuseOnRemote(program: Command, action: Command): void {
	const host = envOf(program)["REEVE_HOST"];
	let command = action;
	while (command.parent !== null && command.parent !== program) command = command.parent;
	if (!host || ON_REMOTES.has(command.name()) || command.name() === "remote") return;
	const hint = `Run it on ${host} itself, or without --host and REEVE_HOST for this host.`;
	throw new ReeveError("usage", `reeve ${command.name()} does not work on remotes`, hint);
}

/** Builds the command tree; `run` makes the actions. The reference page is made from it too. */
export function createProgram(run: Run = () => async () => {}): Command {
	const program = new Command("reeve")
		.description("Keeps AI agents alive and accountable.")
		.version(readVersion(), "-V, --version", "print the version")
		.helpOption("-h, --help", "print this help")
		.option("--host <name>", "act on this remote only (default: $REEVE_HOST)")
		.hook("preAction", refuseOnRemote)
		.helpCommand("help [command]", "print help for a command")
		.exitOverride()
		.showSuggestionAfterError()
		.addHelpText(
			"after",
			"\nWrite an agent as `project:agent`, or as its name if that is unique. For tasks, plans and\ntokens, a prefix or suffix of the id is enough.\n\nExit codes: 0 success, 1 failed, 2 invalid arguments or fleet file, 3 no daemon, 4 not found, 5 refused.",
		);
	program.commandsGroup("Fleet:");
	addLocalCommands(program, run);
	addFleetCommands(program, run);
	program.commandsGroup("Agents:");
	addWatchCommands(program, run);
	addExplain(program, run);
	program.commandsGroup("Calls:");
	addCallCommands(program, run);
	addScheduleCommands(program, run);
	program.commandsGroup("Daemon and access:");
	addDaemonCommands(program, run);
	addTokenCommands(program, run);
	addRemoteCommands(program, run);
	addHostCommands(program, run);
	program.commandsGroup("Other:");
	addCompletion(program, run);
	addDemo(program, run);
	suggestCommands(program);
	return program;
}

/** Whether to print errors as JSON, even if the command line cannot be parsed. */
function wantsJson(args: readonly string[]): boolean {
	const end = args.indexOf("--");
	return (end === -1 ? args : args.slice(0, end)).includes("--json");
}

/** Prints the error and returns its exit code. */
function report(error: unknown, output: Output, asJson: boolean): number {
	// Commander has printed its own message or help.
	if (error instanceof CommanderError) {
		if (error.exitCode === 0) return CLI_EXIT.done;
		const message = error.message.replace(/^error: /, "");
		if (asJson) printJsonError(new ReeveError("usage", message), output);
		return CLI_EXIT.usage;
	}
	return printError(error, output, asJson);
}

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
	inspect: "`reeve explain AGENT` explains an agent's state.",
	show: "`reeve explain AGENT` shows an agent, `reeve tasks show ID` a task.",
	describe: "`reeve explain AGENT` explains an agent's state.",
	apply: "`reeve reload` applies the fleet file.",
	config: "`reeve validate` checks the fleet file.",
	check: "`reeve validate` checks the fleet file, `reeve doctor` this machine.",
	task: "`reeve tasks` lists and shows tasks.",
	plans: "`reeve plan` runs and shows plans.",
	cron: "`reeve schedule` lists and runs schedules.",
	hosts: "`reeve host` lists and drains the hosts of a cluster, `reeve remote` other daemons.",
	schedules: "`reeve schedule` lists and runs schedules.",
	version: "`reeve --version` prints the version.",
	login: "`reeve token link` logs a browser in, `reeve token create` creates a token.",
};

/** Makes an unknown command an error with a hint. Options get one from commander. */
function suggestCommands(program: Command): void {
	const own = Object.entries(ELSEWHERE);
	program.on("command:*", ([typed = ""]: readonly string[]) => {
		const names = program.commands.flatMap((command) => [command.name(), ...command.aliases()]);
		const meant = nearest(typed, names);
		const [, elsewhere] = own.find(([name]) => name === typed) ?? [];
		const guess = meant === null ? "`reeve --help` lists the commands." : `Did you mean ${meant}?`;
		throw new ReeveError("usage", `unknown command \`${typed}\``, elsewhere ?? guess);
	});
}
