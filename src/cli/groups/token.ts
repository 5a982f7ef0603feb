/** Commands for tokens, which give access to the API over the network. */

import { type AddCommands, JSON_OPTION } from "./group.js";

const SCOPE_HELP =
	"the scope: read or operate, optionally with :PROJECT or :PROJECT:AGENT, or agent:PROJECT:AGENT";

export const addTokenCommands: AddCommands = (program, run) => {
	program
		.command("dashboard")
		.description("Open the web page: prints a one-time login link and opens it in your browser.")
		.option("--qr", "print a QR code for a phone")
		.option("--no-open", "only print the link")
		.option("--scope <scope>", SCOPE_HELP, "operate")
		.option("--url <base>", "the address in the link, such as that of a tunnel")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/dashboard.js")).runDashboard));

	const token = program.command("token").description("Show, create and revoke API tokens.");

	token
		.command("show")
		.description("Print your default token, which has full access.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/token.js")).runTokenShow));

	token
		.command("rotate")
		.description("Replace your default token. The old token is revoked immediately.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/token.js")).runTokenRotate));

	token
		.command("create")
		.description("Create a token. It is shown only once.")
		.requiredOption("--scope <scope>", SCOPE_HELP)
		.option("--name <name>", "a label for lists")
		.option("--expires <duration>", "how long it is valid, such as 30d (default: no limit)")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/token.js")).runTokenCreate));

	addLooking(token, run);
	addForAgents(program, run);
};

/** Questions of agents and their answers. */
const addForAgents: AddCommands = (program, run) => {
	program
		.command("mcp")
		.description("Run an MCP server (Model Context Protocol) for an agent on stdin and stdout.")
		.requiredOption("--agent <agent>", "the agent that uses the server, as `project:agent`")
		.option("--token-file <path>", "the file with the agent's token (default: REEVE_TOKEN)")
		.option("--url <url>", "the daemon's URL (default: its socket)")
		.option("--json", "print errors as JSON")
		.action(run(async () => (await import("../commands/mcp.js")).runMcp));

	program
		.command("reply")
		.description("Answer an agent's question. Without an answer, list open questions.")
		.argument("[agent]", "the agent, as `project:agent`")
		.argument("[answer]", "the answer")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/reply.js")).runReply));
};

const addLooking: AddCommands = (token, run) => {
	token
		.command("ls")
		.alias("list")
		.description("List valid tokens and browser sessions.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/token.js")).runTokenList));

	token
		.command("revoke")
		.alias("rm")
		.description("Revoke a token immediately.")
		.argument("<id>", "its id or name, or a prefix of its id")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/token.js")).runTokenRevoke));

	token
		.command("link")
		.description("Create a one-time login link for a browser, valid for five minutes.")
		.option("--scope <scope>", SCOPE_HELP, "operate")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/token.js")).runTokenLink));
};
