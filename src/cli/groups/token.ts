/** Commands for tokens, with which the API is asked over the network. */

import { type AddCommands, JSON_OPTION } from "./group.js";

const SCOPE_HELP = "what it allows: read, operate, or agent:PROJECT:NAME";

export const addTokenCommands: AddCommands = (program, run) => {
	const token = program.command("token").description("Show, make and take away tokens of the API.");

	token
		.command("show")
		.description("Show your own token, which may do everything that tokens may.")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runTokenShow } = await import("../commands/token.js");
				return runTokenShow(options, output, env);
			}),
		);

	token
		.command("rotate")
		.description("Put a new one in the place of your own token; the old one is void at once.")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runTokenRotate } = await import("../commands/token.js");
				return runTokenRotate(options, output, env);
			}),
		);

	token
		.command("create")
		.description("Make a token, and show it this once.")
		.requiredOption("--scope <scope>", SCOPE_HELP)
		.option("--expires <duration>", "void after this long, as 30d (default: never)")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runTokenCreate } = await import("../commands/token.js");
				return runTokenCreate(options, output, env);
			}),
		);

	addLooking(token, run);
	addForAgents(program, run);
};

/** What agents ask, and what they are answered. */
const addForAgents: AddCommands = (program, run) => {
	program
		.command("mcp")
		.description(
			"Serve the fleet to an agent, over the Model Context Protocol on stdin and stdout.",
		)
		.requiredOption("--agent <agent>", "the agent that asks, as `project:agent`")
		.option("--token-file <path>", "the file with the agent's token (default: REEVE_TOKEN)")
		.option("--url <url>", "the daemon's address on the network (default: its socket)")
		.option("--json", "print failures as JSON")
		.action((options) =>
			run(async (_, env) => {
				const { runMcp } = await import("../commands/mcp.js");
				return runMcp(options, env);
			}),
		);

	program
		.command("reply")
		.description(
			"Answer the question that an agent has asked; without a text, show open questions.",
		)
		.argument("[agent]", "the agent, as `project:agent`")
		.argument("[text]", "the answer")
		.option(...JSON_OPTION)
		.action((agent, text, options) =>
			run(async (output, env) => {
				const { runReply } = await import("../commands/reply.js");
				return runReply(agent, text, options, output, env);
			}),
		);
};

const addLooking: AddCommands = (token, run) => {
	token
		.command("ls")
		.description("List the tokens that are valid, and browsers that are logged in.")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runTokenList } = await import("../commands/token.js");
				return runTokenList(options, output, env);
			}),
		);

	token
		.command("revoke")
		.description("Make a token void at once.")
		.argument("<id>", "its id, as `reeve token ls` shows it")
		.option(...JSON_OPTION)
		.action((id, options) =>
			run(async (output, env) => {
				const { runTokenRevoke } = await import("../commands/token.js");
				return runTokenRevoke(id, options, output, env);
			}),
		);

	token
		.command("link")
		.description("Make a link that lets one browser in, once, within five minutes.")
		.option("--scope <scope>", SCOPE_HELP, "operate")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runTokenLink } = await import("../commands/token.js");
				return runTokenLink(options, output, env);
			}),
		);
};
