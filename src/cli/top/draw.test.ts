import { expect, test } from "vitest";
import type { AgentJson } from "../../http/contract/agents.js";
import { drawTop } from "./draw.js";
import { textWidth } from "./frame.js";
import { EMPTY, keepSelection, type TopState } from "./model.js";
import { createTheme } from "./words.js";

const NOW_MS = Date.UTC(2031, 3, 5, 14, 28);
const draw = (state: typeof EMPTY, env: NodeJS.ProcessEnv = { LANG: "C.UTF-8", TERM: "xterm" }) =>
	drawTop(state, { columns: 80, rows: 24, nowMs: NOW_MS, look: createTheme(env) }).map((line) =>
		line.map(({ text }) => text).join(""),
	);

test("a host that does not answer is a row with its age and its reason", () => {
	const silent = [
		{
			name: "box",
			seenAtMs: NOW_MS - 300_000,
			reason: "its daemon does not respond\u001b[2J",
		},
	];
	const lines = draw({ ...EMPTY, silent });
	const row = lines.find((line) => line.includes("box/*")) ?? "";
	expect(row).toMatch(/^○ box\/\* +no answer · 5 min +its daemon does not respond/);
	expect(row).not.toContain("\u001b");
	expect(lines[0]).toContain("box unreachable");
	expect(lines).toHaveLength(24);
	for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(80);
	const plain = draw({ ...EMPTY, silent }, { LANG: "C", NO_COLOR: "1" });
	expect(plain.join("\n")).toMatch(/^o box\/\* +no answer - 5 min/m);
});

type Look = { readonly columns?: number; readonly rows?: number };
const drawn = (agents: readonly AgentJson[], more: Partial<TopState> = {}, at: Look = {}) => {
	const view = { columns: 80, rows: 24, nowMs: NOW_MS, look: createTheme({ LANG: "C.UTF-8" }) };
	const state = keepSelection({ ...EMPTY, ...more, agents });
	return drawTop(state, { ...view, ...at }).map((line) => line.map(({ text }) => text).join(""));
};

const agentWith = (id: string, status: Partial<AgentJson["status"]>, more: object = {}) =>
	({
		...{ id, kind: "session", adapter: "claude", process: "running", policy: "healthy" },
		...{ desired: "up", restarts: 0, usage: null, question: null, last_exit: null },
		...{ next_restart_at: null, reason: "", ...more },
		status: {
			...{ state: "working", needs_you: false, why: "", since: null, until: null, source: null },
			...status,
		},
	}) as unknown as AgentJson;

const ago = (ms: number) => new Date(NOW_MS - ms).toISOString();
const localClock = (ms: number) => new Date(ms).toTimeString().slice(0, 5);

test("the first line always shows who needs you and the connection, however narrow it is", () => {
	const usage = { usd_today: 12_345.67, tokens_today: 1, held_until: null };
	const agents = [
		agentWith("p:a", { state: "asks_you", needs_you: true }, { usage }),
		agentWith("p:b", { state: "finished" }),
		agentWith("p:c", {}),
	];
	const host = "ip-10-0-0-12.eu-central-1.compute.internal";
	for (let columns = 40; columns <= 160; columns++) {
		const [first = ""] = drawn(agents, { host }, { columns });
		expect(first).toMatch(/^◆ Reeve.* 1 needs you.*○ live$/);
		expect(textWidth(first)).toBe(columns);
		const [stale = ""] = drawn(agents, { host, staleSinceMs: NOW_MS }, { columns: columns + 20 });
		expect(stale).toMatch(/1 needs you.*not connected since \d\d:\d\d$/);
	}
	expect(drawn(agents, { host }, { columns: 140 })[0]).toContain(host);
	expect(drawn(agents, { host: "box-1" })[0]).toContain(
		"1 needs you · 1 finished · 1 working  $12345.67 today · ○ live",
	);
});

test("an age leaves a narrow column before its state is cut", () => {
	const day = 24 * 3_600_000;
	const lines = drawn([
		agentWith("p:dead", { state: "dead_letters", needs_you: true, since: ago(52 * 60_000) }),
		agentWith("p:down", { state: "hibernated", since: ago(3 * day + 4 * 3_600_000) }),
		agentWith("p:slow", { state: "restarting", until: ago(-72_000) }),
		agentWith("p:park", { state: "limited", until: ago(-day) }),
	]);
	const stateOf = (name: string) => {
		const line = lines.find((each) => each.includes(`p:${name}`)) ?? "";
		return line.slice(2 + 6 + 1, 2 + 6 + 1 + 18).trim();
	};
	expect(stateOf("dead")).toBe("dead letters");
	expect(stateOf("down")).toBe("hibernated");
	expect(stateOf("slow")).toBe(`restart ${localClock(NOW_MS + 72_000)}`);
	expect(stateOf("park")).toMatch(/^to 04-06 \d\d:\d\d$/);
});

test("times in reasons are those of the terminal's clock", () => {
	const until = new Date(NOW_MS + 600_000);
	const why = `the budget is used up; continues at ${until.toISOString()}, or with \`reeve resume\``;
	const text = drawn([agentWith("p:a", { state: "over_budget", needs_you: true, why })]).join("\n");
	expect(text).toContain(`continues at ${localClock(until.getTime())}, or`);
	expect(text).not.toContain(until.toISOString());
});

test("a question is shown with all of its choices, also those that need more lines than usual", () => {
	const label = "Yes, and do not ask again for npm run db:migrate commands in ~/code/shop".repeat(
		2,
	);
	const question = {
		...{ id: "q", kind: "permission", title: "", text: "Proceed?", detail: "npm run db:migrate" },
		choices: [1, 2, 3].map((number) => ({ number, label, lasting: number === 2 })),
	};
	const agents = [
		agentWith("p:a", { state: "asks_permission", needs_you: true }, { question }),
		...Array.from({ length: 30 }, (_, n) => agentWith(`p:b${n}`, {})),
	];
	const lines = drawn(agents);
	expect(lines).toHaveLength(24);
	for (const number of [1, 2, 3])
		expect(lines.some((line) => line.startsWith(`   ${number} Yes`))).toBe(true);
	expect(lines.join("\n")).not.toContain("more lines");
	expect(lines.filter((line) => / p:b/.test(line)).length, "the table stays").toBeGreaterThan(3);
});

test("a reason neither repeats the state nor the time that the state shows", () => {
	const why = "restarting at 2031-04-05T14:29:12.000Z; exit code 1 after 529ms";
	const lines = drawn([
		agentWith("p:slow", { state: "restarting", until: ago(-72_000), why }),
		agentWith("p:runs", { state: "running", why: "running" }),
	]);
	const rowOf = (name: string) => lines.find((line) => line.includes(` p:${name}`)) ?? "";
	expect(rowOf("slow")).toMatch(/restart \d\d:\d\d +exit code 1 after 529ms/);
	expect(rowOf("runs").match(/running/g)).toHaveLength(1);
});

test("an exit is explained once, and a question without a text is shown with its title", () => {
	const reason = "exit code 1 after 422ms: halted";
	const exit = { last_exit: { at: ago(60_000), uptime_ms: 422, reason }, reason };
	const halted = { state: "halted", needs_you: true, why: reason } as const;
	const pane = drawn([agentWith("p:a", halted, exit)])
		.slice(16)
		.join("\n");
	expect(pane.match(/exit code 1/g)).toHaveLength(1);
	expect(pane).toContain("Last exit 1 min ago, after 0.4 s.");
	expect(pane).toContain("Next: fix the cause, then resume it (u)");
	const question = { id: "q", kind: "permission", title: "Proceed?", text: "", detail: null };
	const asks = agentWith(
		"p:b",
		{ state: "asks_permission", needs_you: true },
		{
			question: { ...question, choices: [{ number: 1, label: "Yes", lasting: false }] },
		},
	);
	expect(drawn([asks]).slice(16).join("\n")).toMatch(/ {3}Proceed\?\n {3}1 Yes/);
});

test("a narrow terminal gives the room of the numbers to name and reason", () => {
	const agents = Array.from({ length: 500 }, (_, n) =>
		agentWith(`project:agent-${n}`, { state: "ready", why: "Waits for a message." }),
	);
	for (const columns of [40, 45, 63, 64, 80, 99, 100, 110, 200]) {
		const lines = drawn(agents, {}, { columns });
		expect(lines).toHaveLength(24);
		expect(lines[1]).toMatch(/^ {2}AGENT 1\/500/);
		expect(lines[1]?.includes("TODAY"), `${columns} columns`).toBe(columns >= 64);
		for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
	}
	expect(drawn(agents, {}, { columns: 60 })[2]).toMatch(/project:agent-0 +ready +Waits for a mes/);
	const last = drawn(agents, { selected: "project:agent-99" });
	expect(last.join("\n")).toContain("── project:agent-99 ready");
});
