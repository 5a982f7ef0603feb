/** Commands that start, stop and change agents. */

import { Argument } from "commander";
import { type AddCommands, AGENT_ARGUMENT, FILE_OPTION, JSON_OPTION } from "./group.js";

const SCOPES = "projects, or agents by id or name";
const TIMEOUT_OPTION = [
	"--timeout <duration>",
	"how long agents have to exit before they are killed, such as 10s (default: their own)",
] as const;

export const addFleetCommands: AddCommands = (program, run) => {
	addUpAndReload(program, run);
	addDownAndRestart(program, run);
	addResumeAndAnswer(program, run);
};

const addUpAndReload: AddCommands = (program, run) => {
	program
		.command("up")
		.alias("start")
		.description("Start the agents of a fleet file, and the daemon if it is not running.")
		.argument("[scope...]", `${SCOPES} (default: all of the file)`)
		.option("--all", "all agents of the file, the default")
		.option(...FILE_OPTION)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/up.js")).runUp));

	program
		.command("reload")
		.description("Apply changes in the fleet file. Unchanged agents keep running undisturbed.")
		.option(...FILE_OPTION)
		.option("--dry-run", "only print the changes")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/reload.js")).runReload));
};

const addDownAndRestart: AddCommands = (program, run) => {
	program
		.command("down")
		.alias("stop")
		.description("Stop agents, each with its whole process tree.")
		.argument("[scope...]", SCOPES)
		.option("--all", "all agents")
		.option(...TIMEOUT_OPTION)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/down.js")).runDown));

	program
		.command("restart")
		.description("Restart agents, with their last conversation if they have one.")
		.argument("[scope...]", SCOPES)
		.option("--all", "all agents")
		.option("--fresh", "start a new conversation")
		.option(...TIMEOUT_OPTION)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/down.js")).runRestart));
};

const addResumeAndAnswer: AddCommands = (program, run) => {
	program
		.command("resume")
		.description(
			"Resume a halted agent and clear its exit history, or end its wait for its account or budget.",
		)
		.argument(...AGENT_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/one-agent.js")).runResume));

	program
		.command("answer")
		.description("Decide what happens to an agent that exited cleanly.")
		.argument(...AGENT_ARGUMENT)
		.addArgument(
			new Argument(
				"<answer>",
				"start a new conversation, continue the last one, or stay down",
			).choices(["fresh", "continue", "stop"]),
		)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/one-agent.js")).runAnswer));
};
