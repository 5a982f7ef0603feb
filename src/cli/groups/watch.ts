/** Commands that look at what runs, and talk to it. */

import { type AddCommands, AGENT_ARGUMENT, JSON_OPTION } from "./group.js";

const SCOPES = "projects, or agents as `project:agent`; all when left out";

export const addWatchCommands: AddCommands = (program, run) => {
	addLists(program, run);
	addStreams(program, run);
	addTerminal(program, run);
};

const addLists: AddCommands = (program, run) => {
	program
		.command("ps")
		.description("List agents, what they do, and why.")
		.argument("[scope...]", SCOPES)
		.option(...JSON_OPTION)
		.action((scopes, options) =>
			run(async (output, env) => {
				const { runPs } = await import("../commands/ps.js");
				return runPs(scopes, options, output, env);
			}),
		);

	program
		.command("sessions")
		.description("List what runs: each agent's run, its backend and its process.")
		.argument("[scope...]", SCOPES)
		.option(...JSON_OPTION)
		.action((scopes, options) =>
			run(async (output, env) => {
				const { runSessions } = await import("../commands/ps.js");
				return runSessions(scopes, options, output, env);
			}),
		);
};

const addStreams: AddCommands = (program, run) => {
	program
		.command("logs")
		.description("Show what an agent wrote, without anything that would act on your terminal.")
		.argument(...AGENT_ARGUMENT)
		.option("-f, --follow", "go on with what it writes, also when it is restarted")
		.option("-n, --lines <count>", "how many of its last lines", "200")
		.option("--raw", "every byte as it was written")
		.option("--json", "print the result as JSON; with -f, one line of the log per line")
		.action((agent, options) =>
			run(async (output, env) => {
				const { runLogs } = await import("../commands/logs.js");
				return runLogs(agent, options, output, env);
			}),
		);

	program
		.command("events")
		.description("Show what has happened, oldest first.")
		.option("-f, --follow", "go on with what happens")
		.option("--agent <agent>", "only of this agent")
		.option("--type <types>", "only these, as agent.exited,task. (with a dot at its end, a group)")
		.option("--after <seq>", "only after the event of this number")
		.option("-n, --lines <count>", "how many of the last ones (default: 100, all with --after)")
		.option("--json", "print each event as JSON on a line of its own")
		.action((options) =>
			run(async (output, env) => {
				const { runEvents } = await import("../commands/events.js");
				return runEvents(options, output, env);
			}),
		);
};

const addTerminal: AddCommands = (program, run) => {
	program
		.command("attach")
		.description("Sit down at an agent's terminal; it runs on when you detach.")
		.argument(...AGENT_ARGUMENT)
		.option("--ro", "only watch")
		.option(
			"--detach-keys <keys>",
			"the keys that detach, one after the other: `ctrl-p,ctrl-q`",
			"ctrl-]",
		)
		.option("--json", "print how it ended as JSON")
		.action((agent, options) =>
			run(async (output, env) => {
				const { runAttach } = await import("../commands/attach.js");
				return runAttach(agent, options, output, env);
			}),
		);

	program
		.command("send")
		.description(
			"Send a text to an agent: typed when it is ready, where its adapter can tell; else at once.",
		)
		.argument(...AGENT_ARGUMENT)
		.argument("[text]", "the text; from stdin when left out, or `-`")
		.option("--no-submit", "type it without Enter")
		.option(...JSON_OPTION)
		.action((agent, text, options) =>
			run(async (output, env) => {
				const { runSend } = await import("../commands/one-agent.js");
				return runSend(agent, text, options, output, env);
			}),
		);

	program
		.command("inbox")
		.description("Show texts that wait to be typed into agents, and those that could not be.")
		.option("--discard <id>", "give one up")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runInbox } = await import("../commands/inbox.js");
				return runInbox(options, output, env);
			}),
		);
};
