/** The usage of agents, and the consequences of a used-up budget. */

import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { NO_USAGE, tokensOf, type UsageCursor, type UsageReading } from "../../src/core/usage.js";
import type { Executor } from "../../src/ports/executor.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

const DAY_MS = 86_400_000;
const ID = "p:a";
const BUDGETED = "a: { adapter: claude, budget: { tokens_per_day: 100 } }";

let world: DaemonWorld;
let sessions: ScriptedSessions;

beforeEach(async () => {
	sessions = createScriptedSessions();
	sessions.profile = { ...PLAIN_PROFILE, drain: ["sigterm"] };
	world = await createDaemonWorld(undefined, undefined, sessions);
});

const view = () => world.engine.get(ID);
const tokensToday = () => tokensOf(view().usage?.today ?? NO_USAGE);
const reported = () => world.store.events.filter(({ type }) => type === "agent.over_budget");
const starts = () => world.store.events.filter(({ type }) => type === "agent.started").length;
const spend = (key: string, input: number, atMs: number | null = world.clock.now().wallMs) =>
	sessions.spent.push({ ...NO_USAGE, key, input, isTotal: false, atMs });

async function up(agent = BUDGETED): Promise<void> {
	const started = world.engine.up(fleetOf(agent), ID);
	await world.pass(250);
	await started;
}

/** Long enough for a check and its consequences. */
const look = () => world.pass(8_000);

describe("the usage of a session", () => {
	test("is counted once per message, also by later daemons", async () => {
		await up();
		spend("m1", 30);
		spend("m1", 40);
		await look();
		await world.killAndRestart(1_000);
		await look();
		expect(tokensToday()).toBe(40);
		spend("m1", 40);
		spend("m2", 5);
		await look();
		expect(tokensToday()).toBe(45);
		expect(world.errors).toEqual([]);
	});

	test("counts for the day of its line: usage that a dead daemon missed does not count for today", async () => {
		await up();
		const yesterday = world.clock.now().wallMs;
		await world.killAndRestart(DAY_MS);
		spend("m1", 500, yesterday);
		spend("m2", 7);
		await look();
		expect(tokensToday()).toBe(7);
		expect(view().usage?.ever.input).toBe(507);
		expect(view().process).toBe("running");
	});

	test("is read again when the run is over", async () => {
		await up("a: { adapter: claude, on_clean_exit: stop }");
		await look();
		spend("last", 9);
		await world.engine.down(ID);
		await look();
		expect(tokensToday()).toBe(9);
	});

	test("is removed with its agent", async () => {
		await up();
		spend("m1", 30);
		await look();
		await world.engine.reload(fleetOf("b: { command: [x] }"));
		expect(world.store.readUsage()).toEqual([]);
	});
});

describe("a session whose budget is spent", () => {
	beforeEach(async () => {
		await up();
		spend("m1", 120);
		await look();
	});

	test("is stopped, and people are notified once", async () => {
		expect(view()).toMatchObject({ process: "stopped", agent: { desired: "up" } });
		expect(view().agent.crash.policy).toBe("healthy");
		const reason = expect.stringContaining("120 of 100 tokens");
		expect(reported()).toMatchObject([{ agent: ID, data: { reason } }]);
		await world.pass(60_000);
		expect(reported()).toHaveLength(1);
		expect(starts()).toBe(1);
	});

	test("is started only by the new day", async () => {
		const again = world.engine.up(fleetOf(BUDGETED), ID);
		await world.pass(1_000);
		expect(await again).toMatchObject([{ id: ID, outcome: "over_budget" }]);
		await world.killAndRestart(1_000);
		await look();
		expect(view().process).toBe("stopped");
		await world.pass(DAY_MS);
		await look();
		expect(view().process).toBe("running");
		expect(starts()).toBe(2);
		expect(tokensToday()).toBe(0);
	});

	test("is started by a daemon that comes on the next day", async () => {
		await world.killAndRestart(DAY_MS);
		await look();
		expect(view().process).toBe("running");
	});

	test("continues for the rest of the day when the operator resumes it", async () => {
		const resumed = world.engine.resume(ID);
		await world.pass(1_000);
		expect(await resumed).toMatchObject({ from: "healthy", released: ["budget"] });
		spend("m2", 500);
		await look();
		await world.killAndRestart(1_000);
		await look();
		expect(view().process).toBe("running");
		expect(tokensToday()).toBe(620);
		await world.pass(DAY_MS);
		spend("m3", 100);
		await look();
		expect(view().process).toBe("stopped");
		expect(reported()).toHaveLength(2);
	});

	test("continues when its budget is raised", async () => {
		await world.engine.reload(fleetOf(BUDGETED.replace("100", "1000")));
		await look();
		expect(view().process).toBe("running");
	});

	test("stays down on the new day when it is wanted down by then", async () => {
		await world.engine.down(ID);
		await world.pass(DAY_MS + 10_000);
		expect(view().process).toBe("stopped");
		expect(starts()).toBe(1);
	});
});

test("a daemon that dies while it stops such a session leaves that to the next one", async () => {
	await up();
	spend("m1", 120);
	world.backend.script(ID, { livesMs: null });
	world.clock.advance(5_000);
	await world.settle();
	await world.killAndRestart(100);
	await look();
	expect(view().process).toBe("stopped");
	expect(reported()).toHaveLength(1);
});

test("files of subagents count for the session, each from its last read position", async () => {
	await up("a: { adapter: claude }");
	const reading = (key: string) => ({ ...NO_USAGE, key, input: 10, isTotal: false, atMs: null });
	const lines: Record<string, number> = { "": 1, a: 1, b: 1 };
	Object.assign(sessions, {
		async usage(_spec: unknown, _id: unknown, cursor: UsageCursor | null) {
			for (const [file, count] of Object.entries(lines)) {
				const at = file === "" ? (cursor?.offset ?? 0) : (cursor?.beside?.[file] ?? 0);
				if (at >= count) continue;
				const readings = [reading(`${file}${at}`)];
				return { path: "record", offset: at + 1, beside: file === "" ? null : file, readings };
			}
			return null;
		},
	});
	await look();
	expect(tokensToday()).toBe(30);
	await world.killAndRestart(1_000);
	lines["a"] = 2;
	await look();
	expect(tokensToday()).toBe(40);
});

describe("calls to an agent CLI", () => {
	let used: UsageReading;
	beforeEach(() => {
		used = {
			...{ key: "", isTotal: false, input: 10, output: 5, cacheRead: 50, cacheWrite: 0 },
			costUsd: 0.25,
		};
	});
	const executor: Executor = {
		call: async () => ({ outcome: { ok: true, result: null }, log: "", used }),
		startWorker: () => Promise.reject(new Error("there are no workers")),
		...{ endLeft: async () => [], close: async () => {} },
	};
	const FLEET = fleetOf("a: { kind: call, adapter: claude, budget: { usd_per_day: 0.5 } }");

	async function call(): Promise<void> {
		const spec = world.engine.calls.specOf(ID);
		if (spec?.kind !== "call") throw new Error("it is not called");
		const request = { request_id: "r", action: "ask" } as never;
		const order = { spec, runId: "r", request, timeoutMs: 1_000 };
		await world.engine.calls.perform(order, new AbortController().signal);
	}

	test("of a CLI that reports a total are counted by the increase, also by a later daemon", async () => {
		world = await createDaemonWorld(undefined, executor, sessions);
		await world.engine.reload(fleetOf("a: { kind: call, adapter: codex }"));
		used = { ...used, key: "c1", isTotal: true, costUsd: null };
		await call();
		used = { ...used, input: 25 };
		await call();
		expect(view().usage?.ever.input).toBe(25);
		await world.killAndRestart(1_000);
		used = { ...used, input: 40 };
		await call();
		used = { ...used, key: "c2", input: 7 };
		await call();
		expect(view().usage?.ever.input).toBe(47);
	});

	test("are counted, and refused once the budget is used up, until the day ends or the operator resumes", async () => {
		world = await createDaemonWorld(undefined, executor, sessions);
		await world.engine.reload(FLEET);
		await call();
		expect(view().usage?.today).toMatchObject({ input: 10, cacheRead: 50, output: 5 });
		expect(world.engine.calls.overBudget(ID)).toBeNull();
		await Promise.all([call(), call()]);
		expect(view().usage?.today.costUsd).toBe(0.75);
		expect(world.engine.calls.overBudget(ID)).toMatch(/\$0\.75 of \$0\.50/);
		expect(reported()).toHaveLength(1);
		await world.killAndRestart(1_000);
		expect(world.engine.calls.overBudget(ID)).toMatch(/used up/);
		await world.pass(DAY_MS);
		expect(world.engine.calls.overBudget(ID)).toBeNull();
		await Promise.all([call(), call()]);
		expect(world.engine.calls.overBudget(ID)).toMatch(/used up/);
		await world.engine.resume(ID);
		expect(world.engine.calls.overBudget(ID)).toBeNull();
	});
});

describe("a budget of a project or an account", () => {
	const lows = () =>
		world.store.events.flatMap((event) =>
			event.type === "agent.budget_low" ? [event.data.reason] : [],
		);

	test("counts all of its agents, is reported at 80 %, and stops each of them when it is used up", async () => {
		const agents = "a: { adapter: claude, account: work }\nb: { adapter: claude, account: work }";
		const fleet = fleetOf(agents);
		const shared = { of: "account", name: "work", tokensPerDay: 100, usdPerDay: null } as const;
		const started = world.engine.up(
			{ ...fleet, agents: fleet.agents.map((spec) => ({ ...spec, sharedBudgets: [shared] })) },
			"p",
		);
		await world.pass(250);
		await started;
		// Both agents read the same record, so each line counts twice.
		spend("m1", 41);
		await look();
		expect(lows()).toEqual(["daily budget of account work at 82 %: 82 of 100 tokens"]);
		expect(world.engine.get("p:a").usage?.held).toBeNull();
		spend("m2", 10);
		await look();
		const reason = "daily budget of account work used up: 102 of 100 tokens";
		expect(["p:a", "p:b"].map((id) => world.engine.get(id).usage?.held?.reason)).toEqual([
			...[reason, reason],
		]);
		expect(["p:a", "p:b"].map((id) => world.engine.get(id).process)).toEqual([
			"stopped",
			"stopped",
		]);
		expect(lows()).toHaveLength(1);
		await world.killAndRestart(DAY_MS);
		await look();
		expect(world.engine.get("p:a").usage?.held).toBeNull();
		expect(world.errors).toEqual([]);
	});
});
