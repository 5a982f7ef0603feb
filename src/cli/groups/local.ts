/** Commands that need no daemon. */

import { CLEAN_EXIT_CHOICES } from "../../core/states.js";
import { type AddCommands, JSON_OPTION } from "./group.js";

export const addLocalCommands: AddCommands = (program, run) => {
	program
		.command("init")
		.description("Write a starter fleet file for the agent CLIs found on this machine.")
		.option("-f, --file <path>", "path of the new file", "reeve.yaml")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/init.js")).runInit));

	program
		.command("validate")
		.description("Check a fleet file and list every problem with its line.")
		.argument("[file]", "the fleet file (default: reeve.yaml)")
		.option("-f, --file <path>", "same as the argument")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/validate.js")).runValidate));
};

/** Listed last, for new users. */
export const addDemo: AddCommands = (program, run) => {
	program
		.command("demo")
		.description("Watch a short demonstration. It installs nothing and cleans up after itself.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/demo.js")).runDemo));
};

/** With `--simulate` it needs no daemon, without it does. */
export const addExplain: AddCommands = (program, run) => {
	program
		.command("explain")
		.description("Explain an agent's state and what the crash policy would do next.")
		.argument("[agent]", "the agent, as `project:agent`; its own policy is used")
		.option(
			"--exit <exit>",
			"show what would happen after this exit: `137`, `SIGKILL`, `usage_limit`",
		)
		.option(
			"-s, --simulate <exits>",
			"simulate the policy over these exits, without a daemon: `1 x7`, `1@31s x20`",
		)
		.option(
			"-f, --file <path>",
			"the fleet file of the agent, for --simulate (default: reeve.yaml)",
		)
		.option(
			"--on-clean-exit <choice>",
			`what happens after a clean exit, for --simulate: ${CLEAN_EXIT_CHOICES.join(", ")}`,
		)
		.option(...JSON_OPTION)
		.addHelpText("after", EXPLAIN_HELP)
		.action(run(async () => (await import("../commands/explain.js")).runExplain));
};

const EXPLAIN_HELP = `
Exits are written as WHAT[@UPTIME][xCOUNT], separated by commas or spaces. WHAT is an
exit code, a signal, a cause (usage_limit, overloaded, auth, config, out_of_memory,
spawn_error, crash, completed), \`stop\` (requested by the operator) or \`resume\`.
Delays are shown as configured, without jitter.

  reeve explain web:coder                         its state, its exits, what would happen next
  reeve explain web:coder --exit 137              if it were killed now
  reeve explain --simulate "1 x7"                 a process that exits immediately
  reeve explain --simulate "1@31s x20"            a slow burner
  reeve explain --simulate "1 x3, 1@2m, 0@1h"     a process that recovers
  reeve explain web:coder --simulate "SIGKILL x3" with that agent's own policy`;
