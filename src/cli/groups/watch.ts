/** Commands that show agents and send messages to them. */

import { type AddCommands, AGENT_ARGUMENT, JSON_OPTION } from "./group.js";

const SCOPES = "projects, or agents by id or name (default: all)";

const RECONNECT_OPTION = [
	"--reconnect <duration>",
	"with -f: how long to wait for a daemon that disappeared",
	"60s",
] as const;

export const addWatchCommands: AddCommands = (program, run) => {
	addLists(program, run);
	addStreams(program, run);
	addTerminal(program, run);
};

const addLists: AddCommands = (program, run) => {
	program
		.command("ps")
		.aliases(["ls", "list"])
		.description("List agents with their state, activity and reason.")
		.argument("[scope...]", SCOPES)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/ps.js")).runPs));

	program
		.command("top")
		.description("Show all agents live on this terminal, those that need you first.")
		.option("--json", "print the agents once as JSON, in the order of the table")
		.action(run(async () => (await import("../commands/top.js")).runTop));

	program
		.command("usage")
		.description("Show tokens and cost over time, as reported by the agent CLIs.")
		.argument("[scope...]", SCOPES)
		.option("--since <day>", "from this many days ago, or from a date: 7d, 2031-04-05", "7d")
		.option("--by <group>", "sum by `day`, `agent`, `project` or `account`", "day")
		.option("--csv", "print the result as CSV")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/usage.js")).runUsage));

	program
		.command("sessions")
		.description("List the current runs with their backend and process.")
		.argument("[scope...]", SCOPES)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/sessions.js")).runSessions));
};

const addStreams: AddCommands = (program, run) => {
	program
		.command("logs")
		.description("Show the output of agents, merged by time, with control sequences removed.")
		.argument("[scope...]", SCOPES)
		.option("-f, --follow", "continue with new output, across restarts of agent and daemon")
		.option("-n, --lines <count>", "number of last lines of each agent (default: 200)")
		.option("--since <time>", "lines from this age or time on, such as 2h or 2031-04-05T06:00Z")
		.option("--until <time>", "lines before this age or time")
		.option("--grep <pattern>", "only lines that match this pattern (RE2); -n counts these")
		.option("-i, --ignore-case", "ignore the case of letters in --grep")
		.option("--around <position>", "the lines around a match that `reeve search` found")
		.option("-t, --time", "print the time of each line; always with several agents")
		.option(...RECONNECT_OPTION)
		.option("--raw", "print the raw bytes")
		.option("--json", "print the result as JSON; with -f, one JSON line per log line")
		.action(run(async () => (await import("../commands/logs.js")).runLogs));

	program
		.command("search")
		.description("Search the logs and transcripts of agents, ignoring case.")
		.argument("<text>", "the text")
		.argument("[scope...]", SCOPES)
		.option("-n, --lines <count>", "maximum number of matches", "50")
		.option("-C, --context <count>", "lines before and after each match, at most 10", "0")
		.option("--kind <kind>", "only `log` or `transcript`")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/search.js")).runSearch));

	program
		.command("events")
		.description("Show events, oldest first.")
		.option("-f, --follow", "continue with new events, across restarts of the daemon")
		.option("--agent <agent>", "only for this agent")
		.option(
			"--type <types>",
			"only these types, such as agent.exited,task. (a trailing dot selects a group)",
		)
		.option("--after <seq>", "only events after this sequence number")
		.option("-n, --lines <count>", "number of last events (default: 100, all with --after)")
		.option(...RECONNECT_OPTION)
		.option("--json", "print one JSON line per event")
		.action(run(async () => (await import("../commands/events.js")).runEvents));
};

const addTerminal: AddCommands = (program, run) => {
	program
		.command("attach")
		.description("Attach to an agent's terminal. The agent keeps running when you detach.")
		.argument(...AGENT_ARGUMENT)
		.option("--ro", "read only")
		.option("--take-over", "type without asking, even if another client has the keyboard")
		.option(
			"--detach-keys <keys>",
			"the key sequence that detaches, such as `ctrl-p,ctrl-q`",
			"ctrl-]",
		)
		.option("--json", "print the outcome as JSON")
		.action(run(async () => (await import("../commands/attach.js")).runAttach));

	program
		.command("screen")
		.description("Print the current screen of an agent's terminal as text.")
		.argument(...AGENT_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/screen.js")).runScreen));

	program
		.command("send")
		.description(
			"Send a message to an agent. It is typed when the agent is ready, or immediately if the adapter cannot detect that.",
		)
		.argument(...AGENT_ARGUMENT)
		.argument("[message]", "the message; read from stdin if omitted or `-`")
		.option("--no-submit", "do not press Enter after it")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/one-agent.js")).runSend));

	program
		.command("inbox")
		.description("List messages that are queued for agents or could not be delivered.")
		.option("--discard <id>", "discard a message")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/inbox.js")).runInbox));
};
