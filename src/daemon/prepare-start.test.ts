import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseFleet } from "../config/parse-fleet.js";
import type { AgentSpec } from "../config/spec.js";
import { NO_CONVERSATION } from "../engine/life-world.js";
import { prepareStart } from "./prepare-start.js";

const folder = mkdtempSync(join(tmpdir(), "reeve-prepare-"));
afterAll(() => rmSync(folder, { recursive: true }));

function specOf(agent: string): AgentSpec {
	const text = `version: 1\nprojects: { p: { agents: { a: ${agent} } } }\n`;
	const parsed = parseFleet(text, "reeve.yaml", { env: {}, homeDir: "/", baseDir: "/" });
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet.agents[0] as AgentSpec;
}

async function prepare(agent: string, inherited: NodeJS.ProcessEnv) {
	const home = {
		...{ logs: folder, agents: join(folder, "agents"), temporary: join(folder, "tmp") },
		socket: join(folder, "reeve.sock"),
	};
	const place = { inherited, home, onTrouble: () => {} };
	const prepared = await prepareStart(specOf(agent), NO_CONVERSATION, place);
	if (!prepared.ok) throw new Error(prepared.detail);
	const { env, ...request } = prepared.request;
	// What Reeve itself tells a session is not looked at here.
	const others = Object.entries(env).filter(([name]) => !name.startsWith("REEVE_"));
	return { ...request, env: Object.fromEntries(others) };
}

test("what systemd tells the daemon's service is not handed to agents", async () => {
	const service = { NOTIFY_SOCKET: "/run/n", WATCHDOG_USEC: "1", WATCHDOG_PID: "2", MAINPID: "3" };
	const { env } = await prepare("{ command: [ls] }", { ...service, HOME: "/home/x" });
	expect(env).toMatchObject({ HOME: "/home/x" });
	for (const name of Object.keys(service)) expect(env).not.toHaveProperty(name);
});

test("an agent that is given such a variable by name has it", async () => {
	const agent = "{ command: [ls], env: { NOTIFY_SOCKET: /mine } }";
	expect((await prepare(agent, { NOTIFY_SOCKET: "/run/n" })).env).toMatchObject({
		NOTIFY_SOCKET: "/mine",
	});
});

test("the time an agent has for its drain is also what the host gives it", async () => {
	const agent = "{ command: [ls], drain: { timeout: 7s } }";
	expect((await prepare(agent, {})).stopTimeoutMs).toBe(7_000);
});
