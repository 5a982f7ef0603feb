/** The command line: which commands there are, what they take, and how their failures are told. */

import { Command, CommanderError } from "commander";
import { readVersion } from "../client/version.js";
import { CLI_EXIT, ERRORS, ReeveError } from "../core/errors.js";
import { CLEAN_EXIT_CHOICES } from "../core/states.js";
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
		const end = args.indexOf("--");
		return tell(error, output, args.slice(0, end === -1 ? undefined : end).includes("--json"));
	}
}

type RunCommand = (output: Output, env: NodeJS.ProcessEnv) => Promise<number>;

/** Builds the command tree; what a command does is handed to `run`. The reference page is made from it too. */
export function createProgram(
	run: (command: RunCommand) => Promise<void> = async () => {},
): Command {
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

	program
		.command("init")
		.description("Write a starter fleet file for the agent CLIs found on this machine.")
		.option("-f, --file <path>", "where to write it", "reeve.yaml")
		.option("--json", "print the result as JSON")
		.action((options) =>
			run(async (output, env) => {
				const { runInit } = await import("./commands/init.js");
				return runInit(options, output, env);
			}),
		);

	program
		.command("validate")
		.description("Check a fleet file and list every problem with its place.")
		.argument("[file]", "the fleet file (default: reeve.yaml)")
		.option("-f, --file <path>", "the same, as for the other commands")
		.option("--json", "print the result as JSON")
		.action((file, options) =>
			run(async (output, env) => {
				const { runValidate } = await import("./commands/validate.js");
				return runValidate(file ?? options.file ?? "reeve.yaml", options, output, env);
			}),
		);

	program
		.command("explain")
		.description("Show what the crash policy would do over a sequence of exits.")
		.argument("[agent]", "an agent of the fleet file, whose policy is used instead of the defaults")
		.requiredOption("-s, --simulate <exits>", "the exits, such as `1 x7` or `1@31s x20`")
		.option("-f, --file <path>", "the fleet file of the agent (default: reeve.yaml)")
		.option(
			"--on-clean-exit <choice>",
			`what follows a clean exit: ${CLEAN_EXIT_CHOICES.join(", ")}`,
		)
		.option("--json", "print the result as JSON")
		.addHelpText("after", EXPLAIN_HELP)
		.action((agent, options) =>
			run(async (output, env) => {
				const { runExplain } = await import("./commands/explain.js");
				return runExplain(agent, options, output, env);
			}),
		);

	program
		.command("demo")
		.description("See Reeve at work in a few seconds; nothing is installed or left behind.")
		.option("--json", "print the result as JSON")
		.action((options) =>
			run(async (output) => {
				const { runDemo } = await import("./commands/demo.js");
				return runDemo(options, output);
			}),
		);

	return program;
}

const EXPLAIN_HELP = `
Exits are written as WHAT[@UPTIME][xCOUNT], separated by commas or spaces. WHAT is an
exit code, a signal, a cause (usage_limit, overloaded, auth, config, out_of_memory,
spawn_error, crash, completed), \`stop\` (asked for by the operator) or \`resume\`.
All delays are honoured, and shown without jitter.

  reeve explain --simulate "1 x7"                 a child that dies at once
  reeve explain --simulate "1@31s x20"            a slow burner
  reeve explain --simulate "1 x3, 1@2m, 0@1h"     one that recovers
  reeve explain web:coder --simulate "SIGKILL x3" with that agent's own policy`;

/** Tells what went wrong and gives the exit code for it. */
function tell(error: unknown, output: Output, asJson: boolean): number {
	// Commander has printed its own message, or help that was asked for.
	if (error instanceof CommanderError) {
		if (error.exitCode === 0) return CLI_EXIT.done;
		const message = error.message.replace(/^error: /, "");
		if (asJson) output.json({ error: { code: "usage", message, hint: ERRORS.usage.hint } });
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
		const { code, message, hint } = known;
		output.json({ error: { code, message, hint } });
	} else {
		output.say(`${output.sayColors.red("error")}: ${known.message}`);
		output.say(`${output.sayColors.dim("hint")}: ${known.hint}`);
	}
	return ERRORS[known.code].cliExit;
}
