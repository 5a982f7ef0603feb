/** Commands that change what runs. */

import { Argument } from "commander";
import { type AddCommands, AGENT_ARGUMENT, FILE_OPTION, JSON_OPTION } from "./group.js";

const SCOPES = "projects, or agents as `project:agent`";
const TIMEOUT_OPTION = [
	"--timeout <duration>",
	"how long agents have to end before they are killed, such as 10s (default: their own)",
] as const;

export const addFleetCommands: AddCommands = (program, run) => {
	addUpAndReload(program, run);
	addDownAndRestart(program, run);
	addResumeAndAnswer(program, run);
};

const addUpAndReload: AddCommands = (program, run) => {
	program
		.command("up")
		.description("Bring up the agents of a fleet file; starts the daemon when there is none.")
		.argument("[scope...]", `${SCOPES}; all of the file when left out`)
		.option("--all", "all of the file, as without a scope")
		.option(...FILE_OPTION)
		.option(...JSON_OPTION)
		.action((scopes, options) =>
			run(async (output, env) => {
				const { runUp } = await import("../commands/up.js");
				return runUp(scopes, options, output, env);
			}),
		);

	program
		.command("reload")
		.description("Bring what runs to what the fleet file says; what is the same is not disturbed.")
		.option(...FILE_OPTION)
		.option("--dry-run", "only show what would change")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runReload } = await import("../commands/reload.js");
				return runReload(options, output, env);
			}),
		);
};

const addDownAndRestart: AddCommands = (program, run) => {
	program
		.command("down")
		.description("Stop agents, each with everything it started.")
		.argument("[scope...]", SCOPES)
		.option("--all", "all agents")
		.option(...TIMEOUT_OPTION)
		.option(...JSON_OPTION)
		.action((scopes, options) =>
			run(async (output, env) => {
				const { runDown } = await import("../commands/down.js");
				return runDown(scopes, options, output, env);
			}),
		);

	program
		.command("restart")
		.description(
			"Stop agents and start them again, with their last conversation where they have one.",
		)
		.argument("[scope...]", SCOPES)
		.option("--all", "all agents")
		.option("--fresh", "begin a new conversation")
		.option(...TIMEOUT_OPTION)
		.option(...JSON_OPTION)
		.action((scopes, options) =>
			run(async (output, env) => {
				const { runRestart } = await import("../commands/down.js");
				return runRestart(scopes, options, output, env);
			}),
		);
};

const addResumeAndAnswer: AddCommands = (program, run) => {
	program
		.command("resume")
		.description(
			"Let a halted agent start again, its history of exits forgotten, or end its wait for its account or budget.",
		)
		.argument(...AGENT_ARGUMENT)
		.option(...JSON_OPTION)
		.action((agent, options) =>
			run(async (output, env) => {
				const { runResume } = await import("../commands/one-agent.js");
				return runResume(agent, options, output, env);
			}),
		);

	program
		.command("answer")
		.description("Say what comes next for an agent that ended by itself and waits to be told.")
		.argument(...AGENT_ARGUMENT)
		.addArgument(
			new Argument("<answer>", "start anew, go on with its conversation, or stay down").choices([
				"fresh",
				"continue",
				"stop",
			]),
		)
		.option(...JSON_OPTION)
		.action((agent, answer, options) =>
			run(async (output, env) => {
				const { runAnswer } = await import("../commands/one-agent.js");
				return runAnswer(agent, answer, options, output, env);
			}),
		);
};
