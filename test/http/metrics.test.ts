/** Metrics and the audit log: both are derived from the events. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { METRICS } from "../../src/http/metrics/metrics.js";
import { createCounter } from "../../src/http/metrics/registry.js";
import { fleetOf } from "../engine/daemon-world.js";
import { createApiWorld, FLEET } from "./api-world.js";

/** The value of a series, by its whole name. */
const seriesValue = (text: string, series: string) => {
	const line = text.split("\n").find((each) => each.startsWith(`${series} `));
	return line === undefined ? null : Number(line.slice(series.length + 1));
};

describe("numbers", () => {
	test("describe agents, their exits and their states", async () => {
		const { client, world } = await createApiWorld();
		world.backend.script("p:db", { livesMs: 100, code: 3 }, { livesMs: null });
		await world.engine.up(FLEET, "p:db");
		await world.pass(10_000);
		const text = await client.metrics();
		const about = { db: 'agent="p:db"', web: 'agent="p:web"' };
		expect(
			seriesValue(text, `reeve_agent_exits_total{${about.db},cause="crash",class="transient"}`),
		).toBe(1);
		expect(seriesValue(text, `reeve_agent_restarts_total{${about.db}}`)).toBe(1);
		expect(seriesValue(text, `reeve_agent_policy_state{${about.web},state="healthy"}`)).toBe(1);
		expect(seriesValue(text, `reeve_agent_policy_state{${about.web},state="halted"}`)).toBe(0);
		expect(seriesValue(text, "reeve_events_sequence")).toBe(world.store.lastSeq());
	});

	test("describe the usage of agent CLIs", async () => {
		const { client, world, sessions } = await createApiWorld();
		const used = { input: 7, output: 2, cacheRead: 30, cacheWrite: 4, costUsd: 0.5 };
		sessions.spent.push({ ...used, key: "m", isTotal: false, atMs: null });
		const keys = "adapter: pi, budget: { tokens_per_day: 40 }";
		const started = world.engine.up(fleetOf(`pi: { ${keys} }`, "pi.yaml", "q"), "q:pi");
		await world.pass(250);
		await started;
		await world.pass(8_000);
		const text = await client.metrics();
		const tokens = (kind: string) =>
			seriesValue(text, `reeve_agent_tokens_total{agent="q:pi",kind="${kind}"}`);
		expect(["input", "output", "cache_read", "cache_write"].map(tokens)).toEqual([7, 2, 30, 4]);
		expect(seriesValue(text, 'reeve_agent_cost_usd_total{agent="q:pi"}')).toBe(0.5);
		const agent = await client.call("GET /api/v1/agents/:id", { place: "q:pi" });
		expect(agent).toMatchObject({
			process: "stopped",
			usage: { tokens_today: 43, usd_today: 0.5, tokens_per_day: 40, usd_per_day: null },
			reason: expect.stringMatching(/43 of 40 tokens; continues at .*:00:00.*reeve resume q:pi/),
		});
		expect(agent.usage?.held_until).toMatch(/00:00:00/);
		const other = await client.call("GET /api/v1/agents/:id", { place: "p:web" });
		expect(other.usage).toBeNull();
	});

	test("describe tasks, attempts and plans", async () => {
		const { client } = await createApiWorld();
		const run = (action: string) =>
			client.call("POST /api/v1/tasks", {
				body: { agent: "p:tool", action },
				query: { wait: "30s" },
			});
		await run("echo");
		await run("fail").catch(() => {});
		const tasks = { one: { agent: "p:tool", action: "echo" } };
		await client.call("POST /api/v1/plans", { body: { tasks }, query: { wait: "30s" } });
		const text = await client.metrics();
		expect(seriesValue(text, 'reeve_task_finished_total{agent="p:tool",status="succeeded"}')).toBe(
			2,
		);
		expect(
			seriesValue(text, 'reeve_task_finished_total{agent="p:tool",status="dead_lettered"}'),
		).toBe(1);
		expect(seriesValue(text, 'reeve_task_started_total{agent="p:tool"}')).toBe(3);
		expect(seriesValue(text, 'reeve_task_duration_seconds_count{agent="p:tool"}')).toBe(3);
		expect(text).toMatch(/reeve_attempt_failures_total\{agent="p:tool",cause="\w+"\} 1/);
		expect(seriesValue(text, "reeve_plan_succeeded_total")).toBe(1);
		expect(seriesValue(text, "reeve_plan_failed_total")).toBe(0);
		expect(seriesValue(text, 'reeve_circuit_state{agent="p:tool",state="closed"}')).toBe(1);
	});

	test("are in the format, each with its help, and go with their agent", async () => {
		const { client, world } = await createApiWorld();
		const before = await client.metrics();
		for (const { name } of Object.values(METRICS)) expect(before).toContain(`# HELP ${name} `);
		const line = /^(#.*|[a-z_]+(\{([a-z]+="[^"]*",?)+\})? -?[\d.e+]+)$/;
		expect(
			before
				.trimEnd()
				.split("\n")
				.filter((each) => !line.test(each)),
		).toEqual([]);
		await world.engine.reload({ ...FLEET, agents: FLEET.agents.slice(0, 1) });
		expect(await client.metrics()).not.toContain("p:db");
	});

	test("have a bounded number of series (A6)", () => {
		const counter = createCounter({ name: "x", help: "X." });
		for (let n = 0; n < 6_000; n++) counter.add({ agent: `a${n}` });
		const lines = counter.render().split("\n");
		expect(lines).toHaveLength(2 + 5_001);
		expect(lines.at(-1)).toBe('x{agent="other"} 1000');
	});

	test("that the example dashboard and alerts use are all there", () => {
		const known = new Set(Object.values(METRICS).map(({ name }) => name as string));
		for (const file of ["grafana-dashboard.json", "alerts.yaml"]) {
			const text = readFileSync(`examples/monitoring/${file}`, "utf8");
			const used = [...text.matchAll(/\breeve_[a-z_]+/g)].map(([name]) =>
				name.replace(/_(bucket|sum|count)$/, ""),
			);
			expect(used.length).toBeGreaterThan(3);
			expect(used.filter((name) => !known.has(name))).toEqual([]);
		}
	});
});

describe("the audit log", () => {
	test("records the actor, the action and the outcome", async () => {
		const { client, world, tokens, rawNetwork, port } = await createApiWorld();
		await client.call("POST /api/v1/agents/:scope/down", {
			...{ place: "p:web", body: {}, correlationId: "c-1" },
		});
		const token = await tokens.showDefault();
		const headers = { host: `127.0.0.1:${port}`, authorization: `Bearer ${token}` };
		await rawNetwork({ method: "POST", path: "/api/v1/agents/p:no/resume", headers });
		await client.call("GET /api/v1/agents");
		const acts = world.store.events.filter(({ type }) => type === "operator.acted");
		const [own] = tokens.list();
		expect(acts).toMatchObject([
			{
				agent: "p:web",
				correlation_id: "c-1",
				data: {
					...{ route: "POST /api/v1/agents/:scope/down", target: "p:web", error: null },
					...{ by: "owner", who: "uid 1000" },
				},
			},
			{
				agent: "p:no",
				data: { by: "token", who: `token ${own?.id}`, error: "agent_not_found" },
			},
		]);
		expect(JSON.stringify(acts)).not.toContain(token);
	});
});

test("the requester of a task or a plan is reported with it", async () => {
	const { client, world } = await createApiWorld();
	const task = { agent: "p:tool", action: "echo" };
	await client.call("POST /api/v1/tasks", { body: task });
	await client.call("POST /api/v1/plans", { body: { tasks: { first: task } } });
	const accepted = world.store.events.filter(({ type }) => type.endsWith(".accepted"));
	expect(accepted.map(({ type, data }) => [type, "by" in data && data.by])).toEqual([
		["task.accepted", "uid 1000"],
		["plan.accepted", "uid 1000"],
		["task.accepted", "uid 1000"],
	]);
});

test("the guide lists every metric with its help", () => {
	const guide = readFileSync("docs/guides/api.md", "utf8");
	const missing = Object.values(METRICS).filter(
		({ name, help }) => !guide.includes(`| \`${name}\` | ${help} |`),
	);
	expect(missing).toEqual([]);
});
