import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseFleet } from "../config/parse-fleet.js";
import type { AgentSpec } from "../config/spec.js";
import { NO_CONVERSATION } from "../engine/runs/session-world.js";
import { createEnvironments } from "./agent-environment.js";
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
		logs: folder,
		agents: join(folder, "agents"),
		temporary: join(folder, "tmp"),
		locks: join(folder, "locks"),
		socket: join(folder, "reeve.sock"),
	};
	const environments = createEnvironments(inherited);
	const place = { environments, home, onTrouble: () => {} };
	const prepared = await prepareStart(specOf(agent), NO_CONVERSATION, place);
	if (!prepared.ok) throw new Error(prepared.detail);
	const { env, ...request } = prepared.request;
	// Variables set by Reeve itself are not checked here.
	const others = Object.entries(env).filter(([name]) => !name.startsWith("REEVE_"));
	return { ...request, env: Object.fromEntries(others) };
}

test("variables of systemd for the daemon's service are not passed to agents", async () => {
	const service = { NOTIFY_SOCKET: "/run/n", WATCHDOG_USEC: "1", WATCHDOG_PID: "2", MAINPID: "3" };
	const { env } = await prepare("{ command: [ls] }", { ...service, HOME: "/home/x" });
	expect(env).toMatchObject({ HOME: "/home/x" });
	for (const name of Object.keys(service)) expect(env).not.toHaveProperty(name);
});

test("an agent gets such a variable if it is named explicitly", async () => {
	const agent = "{ command: [ls], env: { NOTIFY_SOCKET: /mine } }";
	expect((await prepare(agent, { NOTIFY_SOCKET: "/run/n" })).env).toMatchObject({
		NOTIFY_SOCKET: "/mine",
	});
});

test("the drain timeout of an agent is also the limit of the host", async () => {
	const agent = "{ command: [ls], drain: { timeout: 7s } }";
	expect((await prepare(agent, {})).stopTimeoutMs).toBe(7_000);
});

test("gemini writes telemetry for Reeve, unless the user has settings of their own for it", async () => {
	const home = join(folder, "gemini-home");
	const agent = `{ adapter: gemini, env: { HOME: ${home} } }`;
	const { env } = await prepare(agent, {});
	expect(env).toMatchObject({
		GEMINI_TELEMETRY_ENABLED: "true",
		GEMINI_TELEMETRY_OUTFILE: expect.stringContaining(join(folder, "agents")),
	});
	const own = `{ adapter: gemini, env: { HOME: ${home}, GEMINI_TELEMETRY_OUTFILE: /mine } }`;
	const { env: theirs } = await prepare(own, {});
	expect(theirs).toMatchObject({ GEMINI_TELEMETRY_OUTFILE: "/mine" });
	expect(theirs).not.toHaveProperty("GEMINI_TELEMETRY_ENABLED");
	mkdirSync(join(home, ".gemini"), { recursive: true });
	writeFileSync(join(home, ".gemini/settings.json"), '{ "telemetry": { "enabled": true } }');
	expect((await prepare(agent, {})).env).not.toHaveProperty("GEMINI_TELEMETRY_OUTFILE");
});
