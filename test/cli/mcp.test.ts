/** `reeve mcp`, asked by a real client of the protocol, with an agent's own token. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach, expect, test } from "vitest";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { REEVE } from "../support/reeve.js";

let fleet: FleetHome | null = null;
let client: Client | null = null;
afterEach(async () => {
	await client?.close();
	await fleet?.close();
});

/** Answers with what it was given. */
const ECHO = `
let text = "";
for await (const chunk of process.stdin) text += chunk;
const { request_id, payload } = JSON.parse(text);
console.log(JSON.stringify({ request_id, status: "success", code: 0, result: { echo: payload } }));
`;

async function connect({ env, must }: FleetHome): Promise<Client> {
	const create = ["token", "create", "--scope", "agent:p:coder", "--json"];
	const { token } = JSON.parse(await must(...create)) as { token: string };
	client = new Client({ name: "test", version: "1.0.0" });
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: [REEVE, "mcp", "--agent", "p:coder"],
			env: { ...env, PATH: process.env["PATH"] ?? "", REEVE_TOKEN: token },
		}),
	);
	return client;
}

interface Said {
	readonly isError?: boolean;
	readonly content: readonly { readonly text: string }[];
}

test("an agent lists the fleet, calls a tool, reports, asks, and can do nothing else", {
	timeout: 180_000,
}, async () => {
	fleet = createFleetHome();
	const { folder, must, reeve } = fleet;
	writeFileSync(join(folder, "echo.mjs"), ECHO);
	const echo = JSON.stringify([process.execPath, join(folder, "echo.mjs")]);
	fleet.writeFleet(
		`coder: { command: [sh, -c, "echo I am here; exec sleep 1000"] }\ntool: { kind: call, command: ${echo} }`,
	);
	await must("up", "--all");
	const mcp = await connect(fleet);
	const { tools } = await mcp.listTools();
	expect(tools.map(({ name }) => name).sort()).toEqual(
		["ask_operator", "call_agent", "list_agents", "read_logs", "report_status"].sort(),
	);
	const use = async (name: string, args: Record<string, unknown> = {}) => {
		const { content, isError } = (await mcp.callTool({ name, arguments: args })) as unknown as Said;
		return { isError: isError === true, text: content[0]?.text ?? "" };
	};

	const listed = JSON.parse((await use("list_agents")).text) as { id: string }[];
	expect(listed.map(({ id }) => id)).toEqual(["p:coder", "p:tool"]);
	const call = { agent: "p:tool", action: "echo", payload: { a: 1 } };
	expect(JSON.parse((await use("call_agent", call)).text)).toEqual({ echo: { a: 1 } });
	const wrong = await use("call_agent", { agent: "p:coder", action: "x" });
	expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining("not_callable") });
	await eventually(async () => (await use("read_logs")).text.includes("I am here"), "its log");

	expect((await use("report_status", { message: "all is well" })).isError).toBe(false);
	const asked = use("ask_operator", { question: "Which way?" });
	const isAsked = async () => (await must("reply", "--json")).includes("Which way?");
	await eventually(isAsked, "the question is open");
	await must("reply", "p:coder", "left");
	expect(JSON.parse((await asked).text)).toEqual({ answer: "left" });
	expect((await reeve("reply", "p:coder", "again")).code).toBe(5);
	const events = await must("events", "--json", "--agent", "p:coder", "--after", "0");
	expect(events).toContain("all is well");

	const noToken = await reeve("mcp", "--agent", "p:coder");
	expect(noToken.code).toBe(2);
});
