/**
 * `reeve mcp`: the fleet for an agent, over the Model Context Protocol on stdin and stdout. It connects
 * to the daemon with the agent's own token, so it has exactly the access of that token.
 */

import { readFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
import { type Client, createClient } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { createSanitizer } from "../../core/safe-text.js";
import { resolveHome } from "../../home/paths.js";
import { readVersion } from "../../home/version.js";
import { checkAgentId } from "../arguments.js";
import type { Cli } from "../output.js";

export interface McpOptions {
	readonly agent: string;
	readonly tokenFile?: string;
	readonly url?: string;
}

/** Clients time out on a longer tool call; repeating the question continues the wait. */
const ASK_WAIT = "50s";
const CALL_WAIT = "10m";
const LOG_LINES_MAX = 500;

export async function runMcp(options: McpOptions, { env }: Cli): Promise<number> {
	const agent = checkAgentId(options.agent);
	const token = await readToken(options, env);
	const client = createClient(
		options.url === undefined
			? { socketPath: resolveHome(env).socket, token }
			: { url: options.url, token },
	);
	const server = new McpServer({ name: "reeve", version: readVersion() });
	addTools(server, client, agent);
	const transport = new StdioServerTransport();
	const closed = new Promise<void>((resolve) => {
		transport.onclose = resolve;
		process.stdin.once("end", resolve);
	});
	await server.connect(transport);
	await closed;
	return CLI_EXIT.done;
}

async function readToken({ tokenFile }: McpOptions, env: NodeJS.ProcessEnv): Promise<string> {
	const token = tokenFile === undefined ? env["REEVE_TOKEN"] : await readFile(tokenFile, "utf8");
	if (token !== undefined && token.trim() !== "") return token.trim();
	const hint =
		"Create one with `reeve token create --scope agent:PROJECT:NAME` and pass it in REEVE_TOKEN or --token-file.";
	throw new ReeveError("usage", "an agent token is required", hint);
}

function addTools(server: McpServer, client: Client, agent: string): void {
	const self = { place: agent };
	server.registerTool(
		"list_agents",
		{ description: "Lists every agent of the fleet with its state and kind." },
		() => toolResult(async () => (await client.call("GET /api/v1/agents")).agents),
	);
	server.registerTool(
		"read_logs",
		{
			description: "Returns the last lines of your own output, as your operator sees it.",
			inputSchema: { lines: z.number().int().min(1).max(LOG_LINES_MAX).default(100) },
		},
		({ lines }) => toolResult(() => readLogs(client, agent, lines)),
	);
	server.registerTool(
		"call_agent",
		{
			description: "Calls a tool agent (kind `call` or `worker`) and returns its result.",
			inputSchema: {
				agent: z.string().describe("the tool agent, as `project:agent`"),
				action: z.string(),
				payload: z.record(z.string(), z.unknown()).optional(),
			},
		},
		(body) =>
			toolResult(async () => {
				const query = { wait: CALL_WAIT };
				return (await client.call("POST /api/v1/tasks", { body, query })).result ?? null;
			}),
	);
	server.registerTool(
		"report_status",
		{
			description: "Reports your progress to your operator.",
			inputSchema: { message: z.string() },
		},
		(body) => toolResult(() => client.call("POST /api/v1/agents/:id/report", { ...self, body })),
	);
	server.registerTool(
		"ask_operator",
		{
			description:
				"Asks your operator a question and waits for the answer. If there is no answer yet, call it again with the same question to keep waiting.",
			inputSchema: { question: z.string() },
		},
		(body) =>
			toolResult(() => {
				const query = { wait: ASK_WAIT };
				return client.call("POST /api/v1/agents/:id/ask", { ...self, body, query });
			}),
	);
}

async function readLogs(client: Client, agent: string, lines: number): Promise<string> {
	const sanitizer = createSanitizer();
	let text = "";
	for await (const part of client.logs(agent, { lines, follow: false })) {
		text += sanitizer.write(part);
	}
	return text + sanitizer.end();
}

/** The result or the error, in the form of the protocol. */
async function toolResult(act: () => Promise<unknown>) {
	try {
		const result = await act();
		const text = typeof result === "string" ? result : JSON.stringify(result);
		return { content: [{ type: "text" as const, text }] };
	} catch (error) {
		const known = error instanceof ReeveError ? `${error.code}: ${error.message}` : String(error);
		return { isError: true, content: [{ type: "text" as const, text: known }] };
	}
}
