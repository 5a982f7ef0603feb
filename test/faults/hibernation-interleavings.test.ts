/**
 * Random interleavings of messages, terminals, tools, questions, idle time and killed daemons over real processes that
 * hibernate within seconds. The oracle is the ledger of the fake agents: every prompt, every end of a turn, every
 * start.
 *
 * Long form: REEVE_HIBERNATION_INTERLEAVINGS=500. REEVE_FAULT_SEED gives other histories.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createRandom } from "../../src/testing/random.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

/** The built one: the agent is a program of its own. */
const { fakeAgentCommand } = (await import(
	new URL("../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../src/testing/index.js");

const INTERLEAVINGS = Number(process.env["REEVE_HIBERNATION_INTERLEAVINGS"] ?? 16);
const SEED = Number(process.env["REEVE_FAULT_SEED"] ?? 1);
const AGENTS = Math.min(10, Math.ceil(INTERLEAVINGS / 8));
const NAMES = Array.from({ length: AGENTS }, (_, n) => `a${n}`);
/** At least this long between two daemons. Each one keeps all agents awake until their next turn. */
const KILL_EVERY_MS = INTERLEAVINGS > 100 ? 20_000 : 4_000;
const SLEEP_MS_MAX = INTERLEAVINGS > 100 ? 20_000 : 10_000;

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

interface LedgerLine {
	readonly pid: number;
	readonly session_id: string;
	readonly hook_event_name: string;
	readonly prompt?: string;
	readonly source?: string;
}

const ledgerOf = (name: string) =>
	readFileSync(join(home.folder, `${name}.jsonl`), "utf8")
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as LedgerLine);

/** A message, and whether the daemon has confirmed that it accepted it. */
interface Sent {
	readonly agent: string;
	readonly text: string;
	accepted: boolean;
}

test(`${INTERLEAVINGS} random interleavings of agents that hibernate lose nothing`, {
	timeout: 120_000 + INTERLEAVINGS * 10_000,
}, async () => {
	const agents = NAMES.map((name) => {
		const script = {
			ledger: join(home.folder, `${name}.jsonl`),
			turns: [
				{ when: "tool", tool: { takes: "3s" } },
				{
					when: "ask",
					asks: { title: "Run it?", choices: ["Yes", "No"], accepts: ["Yes"] },
				},
				{ takes: "300ms" },
			],
		};
		const command = JSON.stringify(fakeAgentCommand(script));
		return `${name}: { adapter: claude, backend: pty, command: ${command}, hibernate: { after: 1s } }`;
	});
	home.writeFleet(agents.join("\n"));
	await home.must("up", "--wait");
	const client = createClient({ socketPath: join(home.folder, "home/reeve.sock") });
	const sent: Sent[] = [];
	const findings: string[] = [];
	/** Why agents were awake after a wait for their hibernation, and how often. */
	const awake = new Map<string, number>();
	let kills = 0;
	let killedAtMs = performance.now();
	let killing: Promise<void> | null = null;

	async function send(agent: string, text: string): Promise<void> {
		const message: Sent = { agent, text, accepted: false };
		sent.push(message);
		await client.call("POST /api/v1/agents/:id/send", { place: `p:${agent}`, body: { text } });
		message.accepted = true;
	}

	async function answer(agent: string): Promise<void> {
		const { question } = await client.call("GET /api/v1/agents/:id", { place: `p:${agent}` });
		if (question === null) return;
		const place = [`p:${agent}`, question.id];
		await client.call("POST /api/v1/agents/:id/questions/:question/answer", {
			...{ place, body: { choice: 1 } },
		});
	}

	/**
	 * While it watches, its agent may not go away; only the daemon may. Unless it has come after the decision to hibernate:
	 * then the agent starts again for it.
	 */
	async function attach(agent: string, forMs: number): Promise<void> {
		const size = { columns: 80, rows: 24, readOnly: true };
		const terminal = await client.terminal(`p:${agent}`, size);
		const killsBefore = kills;
		const seen = await client.call("GET /api/v1/agents/:id", { place: `p:${agent}` });
		const isAwake = seen.process === "running" && seen.hibernation?.state === "awake";
		let isOpen = true;
		terminal.on("close", () => {
			if (isOpen && isAwake && killing === null && kills === killsBefore) {
				findings.push(`${agent}: run ${seen.run_id} ended while a terminal was attached to it`);
			}
		});
		terminal.resume();
		await sleep(forMs);
		isOpen = false;
		terminal.close();
	}

	/** An agent that may contain a draft from before a daemon's death hibernates only after another turn. */
	async function idle(agent: string, text: string): Promise<void> {
		await answer(agent);
		const { hibernation } = await client.call("GET /api/v1/agents/:id", { place: `p:${agent}` });
		if (hibernation?.why_awake?.includes("before the daemon started")) await send(agent, text);
		await waitForSleep(agent, SLEEP_MS_MAX);
	}

	async function waitForSleep(agent: string, withinMs: number): Promise<void> {
		const untilMs = performance.now() + withinMs;
		let reason = "no answer";
		while (performance.now() < untilMs) {
			const found = await client
				.call("GET /api/v1/agents/:id", { place: `p:${agent}` })
				.catch(() => null);
			if (found?.status.state === "hibernated") return;
			reason = found?.hibernation?.why_awake ?? found?.reason ?? reason;
			await sleep(100);
		}
		awake.set(reason, (awake.get(reason) ?? 0) + 1);
	}

	async function killDaemon(): Promise<void> {
		if (killing !== null || performance.now() - killedAtMs < KILL_EVERY_MS) return;
		killing = (async () => {
			kills += 1;
			await home.killDaemon();
			await home.must("daemon", "start");
			killedAtMs = performance.now();
		})();
		await killing.finally(() => {
			killing = null;
		});
	}

	async function live(
		agent: string,
		rounds: number,
		random: ReturnType<typeof createRandom>,
	): Promise<void> {
		let messages = 0;
		for (let round = 0; round < rounds; round++) {
			const kind = random.pick([
				"plain",
				"plain",
				"tool",
				"ask",
				"attach",
				"answer",
				"kill",
				"idle",
				"idle",
			]);
			const next = () => `${agent} ${kind} ${++messages}.`;
			const actions: Readonly<Record<string, () => Promise<void>>> = {
				attach: () => attach(agent, random.int(0, 4_000)),
				answer: () => answer(agent),
				kill: killDaemon,
				idle: () => idle(agent, next()),
			};
			const act = actions[kind] ?? (() => send(agent, next()));
			// Requests fail while there is no daemon. Some actions overlap the next ones.
			const done = act().catch(() => {});
			if (random.chance(0.7)) await done;
			// Half of the next actions come to an agent that sleeps, or is about to.
			if (random.chance(0.5)) {
				if (random.chance(0.7)) await answer(agent).catch(() => {});
				await waitForSleep(agent, random.int(1_500, SLEEP_MS_MAX));
			}
			await sleep(random.pick([0, 20, 100, 300, 1_000]));
		}
	}

	// An agent without a conversation on record stays awake.
	await Promise.all(NAMES.map((name) => send(name, `${name} first.`)));
	await Promise.all(
		NAMES.map((name, index) => {
			const rounds = Math.ceil(INTERLEAVINGS / AGENTS);
			return live(name, rounds, createRandom(SEED * 1_000 + index));
		}),
	);
	await (killing ?? undefined);
	// After a killed daemon an agent may contain a draft that the new daemon does not know: it sleeps only after another turn.
	await Promise.all(NAMES.map((name) => send(name, `${name} last.`)));
	const isAtRest = async () => {
		await Promise.all(NAMES.map((name) => answer(name).catch(() => {})));
		const { messages } = await client.call("GET /api/v1/inbox");
		const all = (await home.ps()) as AgentJson[];
		return messages.length === 0 && all.every(({ status }) => status.state === "hibernated");
	};
	await eventually(isAtRest, "all messages are delivered and all agents sleep", 300_000, 1_000);

	for (const name of NAMES) findings.push(...judge(name, sent));
	expect(findings).toEqual([]);
	const events = (await home.must("events", "--json", "--type", "agent.hibernated,agent.woken"))
		.split("\n")
		.filter(Boolean);
	const slept = events.filter((line) => line.includes('"agent.hibernated"')).length;
	const freed = (await home.ps()).map(({ hibernation }) => hibernation?.freed_bytes ?? 0);
	const megabytes = Math.round(freed.reduce((sum, each) => sum + each, 0) / 1e6);
	console.log(
		`${INTERLEAVINGS} interleavings of ${AGENTS} agents, ${sent.length} messages, ${kills} daemons killed, ${slept} hibernations; ${AGENTS} agents freed ${megabytes} MB`,
	);
	console.log(
		[...awake].toSorted(([, a], [, b]) => b - a).map(([why, count]) => `${count} × ${why}`),
	);
	expect(slept).toBeGreaterThanOrEqual(AGENTS);
});

/** The violations in the ledger of one agent. */
function judge(name: string, sent: readonly Sent[]): readonly string[] {
	const lines = ledgerOf(name);
	const findings: string[] = [];
	for (const { text, accepted } of sent.filter(({ agent }) => agent === name)) {
		const times = lines.filter(({ prompt }) => prompt === text).length;
		if (times > 1 || (accepted && times === 0)) findings.push(`"${text}" arrived ${times} times`);
	}
	const known = new Set(sent.map(({ text }) => text));
	for (const { prompt } of lines) {
		if (prompt !== undefined && !known.has(prompt)) findings.push(`unknown prompt: "${prompt}"`);
	}
	const conversations = new Set(lines.map(({ session_id: id }) => id));
	if (conversations.size !== 1) findings.push(`${name}: ${conversations.size} conversations`);
	const over = new Set<number>();
	let [pid, openTurn] = [0, ""];
	for (const line of lines) {
		if (line.pid !== pid) {
			if (openTurn !== "") findings.push(`${name}: stopped in the turn "${openTurn}"`);
			if (over.has(line.pid)) findings.push(`${name}: two processes at once`);
			over.add(pid);
			[pid, openTurn] = [line.pid, ""];
		}
		const { hook_event_name: event, prompt = "" } = line;
		if (event === "UserPromptSubmit") openTurn = prompt;
		if (event === "Stop") openTurn = "";
		if (event === "SessionEnd" && openTurn !== "") {
			findings.push(`${name}: asked to exit in the turn "${openTurn}"`);
		}
	}
	return findings;
}
