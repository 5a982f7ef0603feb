import { describe, expect, test } from "vitest";
import { agentJson, DOWN, exitJson } from "../../test/support/agents.js";
import type { AgentJson } from "../http/contract/agents.js";
import { renderAgentTable, renderTally } from "./agent-table.js";
import { NO_COLORS } from "./output.js";

const NOW_MS = Date.parse("2031-04-05T06:10:00Z");
const colors = NO_COLORS;
const render = (agents: readonly AgentJson[], columns: number | null) =>
	renderAgentTable(agents, { colors, columns }, NOW_MS);

const REASON = "exit code 1 after 400ms: flapping 5 of 5 in a row (7 within 60s of running time)";
const halted = (id: string) =>
	agentJson(id, {
		process: "stopped",
		policy: "halted",
		pid: null,
		uptime_ms: null,
		restarts: 6,
		last_exit: exitJson({ class: "flapping" }),
		reason: REASON,
	});
const many = Array.from({ length: 200 }, (_, at) =>
	at % 50 === 49
		? halted(`project-${at % 7}:coder-${at}`)
		: agentJson(`project-${at % 7}:coder-${at}`, { restarts: at, pid: 10_000 + at }),
);

describe.each([60, 80, 120, 200])("in a window of %i columns", (columns) => {
	test.each([
		["no agents", []],
		["one agent", [agentJson("web:coder")]],
		["one that is halted", [halted("web:coder")]],
		["200 agents", many],
	])("%s fit", (_, agents) => {
		const lines = render(agents, columns);
		expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
		expect(lines[0]).toMatch(/^AGENT +STATE .*REASON$/);
		for (const { id } of agents) {
			expect(lines.filter((line) => line.startsWith(`${id} `))).toHaveLength(1);
		}
	});

	test("a healthy agent takes one line, and an unhealthy one shows every detail", () => {
		const lines = render(many, columns);
		const well = many.filter((agent) => agent.policy === "healthy").length;
		expect(lines.filter((line) => /^project\S+ +running /.test(line))).toHaveLength(well);
		const words = lines.join(" ").replace(/\s+/g, " ");
		expect(words).toContain("flapping 5 of 5 in a row");
		expect(words).toContain("7 within 60s of running time)");
	});
});

test("a narrow window drops optional columns, never the reason", () => {
	expect(render(many, 200)[0]).toMatch(/^AGENT +STATE +PID +UPTIME +RESTARTS +LAST EXIT +REASON$/);
	expect(render(many, 80)[0]).not.toContain("LAST EXIT");
	expect(render(many, 60)[0]).toMatch(/^AGENT +STATE +REASON$/);
});

test("without a terminal no text is truncated", () => {
	const long = "a reason that is longer and longer ".repeat(20).trim();
	expect(render([agentJson("web:coder", { reason: long })], null)[1]).toContain(long);
});

const RESTARTING: Partial<AgentJson> = {
	...DOWN,
	desired: "up",
	next_restart_at: "2031-04-05T06:10:27.300Z",
	reason: "restarting at 2031-04-05T06:10:27.300Z; flapping",
};
const HELD = {
	tokens_today: 9,
	usd_today: null,
	tokens_per_day: 5,
	usd_per_day: null,
	held_until: "2031-04-06T00:00:00.000Z",
};

test.each<[string, Partial<AgentJson>, RegExp]>([
	["runs", {}, /^web:a +running +4711 +1m 33s +0 +- +started by the operator$/],
	["is degraded", { policy: "degraded" }, /^web:a +running, degraded /],
	["is at work", { activity: "busy", activity_source: "hook" }, /^web:a +running, busy /],
	[
		"asks",
		{ activity: "waiting_input", activity_source: "screen" },
		/^web:a +running, waiting input /,
	],
	["is halted", { policy: "halted", process: "stopped" }, /^web:a +halted /],
	["is halted and ends", { policy: "halted", process: "stopping" }, /^web:a +stopping, halted /],
	["is down", DOWN, /^web:a +stopped +- +- +0 +- +stopped by the operator$/],
	["was killed", { last_exit: exitJson({ code: null, signal: "SIGKILL" }) }, / SIGKILL /],
	["hit a limit", { last_exit: exitJson({ cause: "usage_limit" }) }, / usage_limit /],
	[
		"waits for an answer",
		{ ...DOWN, desired: "up", waiting: true, reason: "exit code 0" },
		/^web:a +waiting .*exit code 0: `reeve answer web:a fresh\|continue\|stop`$/,
	],
	[
		"waits for its restart",
		{ ...RESTARTING, policy: "degraded", health: "degraded" },
		/^web:a +restarting in 28s, degraded +- .* flapping$/,
	],
	[
		"waits for its restart, and was well before",
		{ ...RESTARTING, next_restart_at: "2031-04-05T06:09:59.000Z" },
		/^web:a +restarting now +- .* flapping$/,
	],
	[
		"waits for a usage limit",
		{ ...RESTARTING, activity: "rate_limited", reason: "waits for the usage limit" },
		/^web:a +usage limit .* starts in 28s; waits for the usage limit$/,
	],
	["is for calls", { ...DOWN, kind: "call" }, /^web:a +on call /],
	[
		"is for calls, and failed",
		{ ...DOWN, kind: "call", health: "degraded", reason: "the last call failed" },
		/^web:a +on call, degraded .* the last call failed$/,
	],
	[
		"is for calls, and has spent its budget",
		{ ...DOWN, desired: "up", kind: "call", usage: HELD },
		/^web:a +over budget /,
	],
	[
		"serves calls, some of which failed",
		{ kind: "worker", health: "degraded" },
		/^web:a +running, degraded /,
	],
	[
		"serves calls and is halted, which its open circuit must not hide",
		{ kind: "worker", process: "stopped", policy: "halted", circuit: "open" },
		/^web:a +halted /,
	],
	["was stopped by Reeve", { last_exit: exitJson({ cause: "requested" }) }, / on request /],
	["wrote into its reason", { reason: "\u001b]0;x\u0007bad\n\u001b[2Jnews" }, / bad news$/],
])("one that %s", (_, facts, line) => {
	expect(render([agentJson("web:a", facts)], null)[1]).toMatch(line);
});

test("the summary counts only the states that occur", () => {
	expect(renderTally(many)).toBe("200 agents: 196 running, 4 halted");
	expect(renderTally([agentJson("a:b", { waiting: true, process: "stopped" })])).toBe(
		"1 agent: 1 waiting for an answer",
	);
	expect(renderTally([agentJson("a:b", RESTARTING), agentJson("a:c", DOWN)])).toBe(
		"2 agents: 1 restarting, 1 stopped",
	);
});

describe("usage", () => {
	const usage = {
		tokens_today: 12_345,
		usd_today: 0.42,
		tokens_per_day: 10_000,
		usd_per_day: null,
	};

	test("is shown when there is some, and takes no room when there is none", () => {
		const agents = [agentJson("p:a", { usage: { ...usage, held_until: null } }), agentJson("p:b")];
		const lines = render(agents, 200);
		expect(lines[0]).toContain("TODAY");
		expect(lines[1]).toContain("12.3K $0.42");
		expect(render(agents.slice(1), 200)[0]).not.toContain("TODAY");
	});

	test("that exceeds the budget is the state of the agents that wait for it", () => {
		const held = { ...usage, held_until: "2031-04-06T00:00:00.000Z" };
		const [, line] = render([agentJson("p:a", { ...DOWN, desired: "up", usage: held })], 200);
		expect(line).toContain("over budget");
	});
});
