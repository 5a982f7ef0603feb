/** Commands that start, stop and change agents. */

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
		.option("--wait", "wait until every agent is ready or has completed; fail if one cannot be")
		.option("--timeout <duration>", "how long --wait waits, such as 90s (default: 5m)")
		.option(...FILE_OPTION)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/up.js")).runUp));

	program
		.command("reload")
		.description("Apply changes in the fleet file. Unchanged agents keep running.")
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
		.description(
			"Answer an agent's question. Without an answer, show the question and its choices; without an agent, list open questions.",
		)
		.argument("[agent]", "the agent, as `project:agent`")
		.argument(
			"[answer]",
			"the number or label of a choice, the text of a free answer, or `continue`, `fresh` or `stop` after a clean exit",
		)
		.option("--question <id>", "answer only if this question is still open")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/answer.js")).runAnswer));
};
