/** Real agents on a loaded host: tools of killed agents, and messages across restarts of agent and daemon. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import { createMockApi } from "../../src/testing/mock-api/mock-api.js";
import { createFleetHome, eventually } from "../faults/fleet-home.js";
import { killProcess } from "../support/kill.js";
import { runBusyLoops } from "./busy-loops.js";
import { CLIS, json, KEY, type RealCli } from "./clis.js";
import { install } from "./install.js";
import { countIn, openSession, PLACE, running } from "./session.js";

const [CLAUDE, , GEMINI] = CLIS as [RealCli, RealCli, RealCli];
const AGENTS = Number(process.env["REEVE_LOAD_AGENTS"] ?? 20);
const MESSAGES = 20;
const MESSAGES_PER_RESTART = 5;
const WITHIN_MS = 400_000;

runBusyLoops();

test(`tools of ${AGENTS} killed agents are gone before their successors run`, {
	timeout: 1_800_000,
}, async () => {
	const api = await createMockApi();
	const home = realpathSync(mkdtempSync(join(tmpdir(), "reeve-tools-")));
	const program = await install(CLAUDE);
	const custom = { customApiKeyResponses: { approved: [KEY.slice(-20)] } };
	const settings = { hasCompletedOnboarding: true, theme: "dark", ...custom };
	writeFileSync(
		join(home, ".claude.json"),
		json({ ...settings, bypassPermissionsModeAccepted: true }),
	);
	const names = Array.from({ length: AGENTS }, (_, n) => `c${n}`);
	const markerOf = (name: string) => `reeve-load-${process.pid}-${name}-end`;
	const agents = names.map((name) => {
		const cwd = join(home, name);
		mkdirSync(cwd);
		const env = { ...CLAUDE.env({ api: api.url, home, cwd }), HOME: home };
		const keys = { adapter: "claude", command: [program], args: CLAUDE.terminal, env, cwd };
		api.script({
			...{ when: `tool of ${name}.`, withTools: true, times: 1 },
			reply: { tool: CLAUDE.shell(`perl -e 'sleep 900' ${markerOf(name)}`) },
		});
		return [name, { ...keys, crash_policy: { transient_delay: "200ms" } }] as const;
	});
	const fleet = createFleetHome();
	const project = { agents: Object.fromEntries(agents) };
	writeFileSync(
		join(fleet.folder, "reeve.yaml"),
		JSON.stringify({ version: 1, projects: { p: project } }),
	);
	try {
		await fleet.must("up");
		const client = createClient({ socketPath: join(fleet.env["REEVE_HOME"] ?? "", "reeve.sock") });
		await eventually(areReady(client), "all agents are ready", WITHIN_MS, 1_000);
		for (const name of names) await fleet.must("send", `p:${name}`, `tool of ${name}.`);
		const haveTools = () => names.every((name) => running(markerOf(name)).length > 0);
		await eventually(haveTools, "all tools run", WITHIN_MS, 1_000);
		const before = new Map((await pidsOf(client)).map(([id, pid]) => [id, pid]));
		for (const pid of before.values()) if (pid !== null) killProcess(pid);
		const overlaps: string[] = [];
		const started = new Set<string>();
		const watch = async () => {
			for (const [id, pid] of await pidsOf(client)) {
				if (pid === null || pid === before.get(id)) continue;
				started.add(id);
				// Looked at after its successor was seen: a tool that is still there runs beside it.
				if (running(markerOf(id.replace("p:", ""))).length > 0) overlaps.push(id);
			}
			return started.size === AGENTS;
		};
		await eventually(watch, "all agents run again", WITHIN_MS, 100);
		console.log(`${started.size} of ${AGENTS} agents run again, ${overlaps.length} overlaps`);
		expect(overlaps).toEqual([]);
		expect(names.flatMap((name) => running(markerOf(name)))).toEqual([]);
	} finally {
		await fleet.close();
		await api.close();
		rmSync(home, { recursive: true, force: true, maxRetries: 20 });
	}
});

const areReady = (client: Client) => async () => {
	const { agents } = await client.call("GET /api/v1/agents");
	return agents.filter(({ activity }) => activity === "ready").length === AGENTS;
};

async function pidsOf(client: Client): Promise<readonly (readonly [string, number | null])[]> {
	const { agents } = await client.call("GET /api/v1/agents");
	return agents.map(({ id, pid, process }) => [id, process === "running" ? pid : null]);
}

test(`${MESSAGES} messages reach gemini once each, across restarts of the agent and the daemon`, {
	timeout: 1_800_000,
}, async () => {
	const session = await openSession(GEMINI);
	const { home, agent, until, ask, asked } = session;
	try {
		await ask("say hello");
		const texts = Array.from({ length: MESSAGES }, (_, n) => `message ${n} of many.`);
		for (const [n, text] of texts.entries()) {
			if (n % MESSAGES_PER_RESTART === 0) {
				const { pid } = await agent();
				await home.must("restart", PLACE);
				await until("it is restarted", async () => {
					const now = await agent();
					return now.process === "running" && now.pid !== pid;
				});
				await sleep((n % 4) * 1_000);
				await home.killDaemon();
				await home.must("daemon", "start");
			}
			// In other words than the text's own, which are counted.
			session.bench.api.script({ when: text, withTools: true, reply: { text: "Received." } });
			await ask(text);
		}
		await ask("the end");
		const counts = texts.map((text) => countIn(asked("the end")[0], text));
		const dead = await session.events("inbox.dead");
		console.log(`${counts.filter((count) => count === 1).length} of ${MESSAGES} exactly once`);
		expect(counts).toEqual(texts.map(() => 1));
		expect(dead).toEqual([]);
	} finally {
		await session.close();
	}
});
