/** The command line: which commands there are, what they take, and how their failures are told. */

import { Command, CommanderError } from "commander";
import { readVersion } from "../client/version.js";
import { CLI_EXIT, ERRORS, ReeveError } from "../core/errors.js";
import { addCallCommands } from "./groups/calls.js";
import { addDaemonCommands } from "./groups/daemon.js";
import { addFleetCommands } from "./groups/fleet.js";
import type { Run } from "./groups/group.js";
import { addDemo, addExplain, addLocalCommands } from "./groups/local.js";
import { addTokenCommands } from "./groups/token.js";
import { addWatchCommands } from "./groups/watch.js";
import { createOutput, type Output } from "./output.js";

export async function runProgram(args: readonly string[]): Promise<number> {
	const output = createOutput(process.stdout, process.stderr, process.env);
	let exitCode: number = CLI_EXIT.done;
	const program = createProgram(async (command) => {
		exitCode = await command(output, process.env);
	}).configureOutput({ writeErr: (text) => output.say(text.trimEnd()) });
	try {
		if (args.length === 0) {
			program.outputHelp({ error: true });
			return CLI_EXIT.usage;
		}
		await program.parseAsync(args, { from: "user" });
		return exitCode;
	} catch (error) {
		return tell(error, output, wantsJson(args));
	}
}

/** Builds the command tree; what a command does is handed to `run`. The reference page is made from it too. */
export function createProgram(run: Run = async () => {}): Command {
	const program = new Command("reeve")
		.description("Keeps AI agents alive and accountable.")
		.version(readVersion(), "-V, --version", "print the version")
		.helpOption("-h, --help", "print this help")
		.helpCommand("help [command]", "print the help of a command")
		.exitOverride()
		.showSuggestionAfterError()
		.addHelpText(
			"after",
			"\nExit codes: 0 done, 1 failed, 2 usage or fleet file, 3 no daemon, 4 not found, 5 refused.",
		);
	addLocalCommands(program, run);
	addFleetCommands(program, run);
	addWatchCommands(program, run);
	addCallCommands(program, run);
	addExplain(program, run);
	addDaemonCommands(program, run);
	addTokenCommands(program, run);
	addDemo(program, run);
	return program;
}

/** Whether the failure of a command line that may not even be understood is to be told as JSON. */
function wantsJson(args: readonly string[]): boolean {
	const end = args.indexOf("--");
	return (end === -1 ? args : args.slice(0, end)).includes("--json");
}

/** Tells what went wrong and gives the exit code for it. */
function tell(error: unknown, output: Output, asJson: boolean): number {
	// Commander has printed its own message, or help that was asked for.
	if (error instanceof CommanderError) {
		if (error.exitCode === 0) return CLI_EXIT.done;
		const message = error.message.replace(/^error: /, "");
		if (asJson) tellJson(new ReeveError("usage", message), output);
		return CLI_EXIT.usage;
	}
	const known =
		error instanceof ReeveError
			? error
			: new ReeveError(
					"internal",
					error instanceof Error ? (error.stack ?? error.message) : String(error),
				);
	if (asJson) {
		tellJson(known, output);
	} else {
		output.say(`${output.sayColors.red("error")}: ${known.message}`);
		output.say(`${output.sayColors.dim("hint")}: ${known.hint}`);
	}
	return ERRORS[known.code].cliExit;
}

/** On one line: it may follow other lines of JSON. */
function tellJson({ code, message, hint }: ReeveError, output: Output): void {
	output.result(JSON.stringify({ error: { code, message, hint } }));
}
