/**
 * Agents in the middle of a turn. Some are stopped at the same moment while they run a tool; each drain step is the
 * last one that is needed for one of them. Others hang: Reeve detects them, whether their screen moves or not, and
 * takes the steps of their `stall`.
 */

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DrainStep } from "../../../src/core/adapter.js";
import { DEFAULT_NUDGE } from "../../../src/core/stall.js";
import { readProcessTable } from "../../../src/host/process-table.js";
import type { FakeAgentScript } from "../../../src/testing/fake-agent/script.js";
import { createMatrixFleet, type MatrixAgent, type MatrixFleet, until } from "./matrix-fleet.js";

interface Row {
	readonly title: string;
	/** `claude`, or an adapter of the fleet file with these drain steps. */
	readonly ladder: "claude" | readonly DrainStep[];
	readonly script: FakeAgentScript;
	readonly steps: readonly (DrainStep | "sigkill")[];
	readonly outcome: "graceful" | "timed_out_killed";
	/** Its tool finishes while Reeve waits for the turn. */
	readonly endsTurn?: true;
}

/** Busy forever, with a tool that only a kill of the agent's whole process tree stops. */
const WORKS = { turns: [{ tool: { left_behind: true }, reply: "done" }] };

const ROWS: readonly Row[] = [
	{
		...{ title: "whose turn comes to its end", ladder: "claude", script: WORKS, endsTurn: true },
		...{ steps: ["turn", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that Esc interrupts", ladder: "claude", script: WORKS },
		...{ steps: ["turn", "esc", "sigterm"], outcome: "graceful" },
	},
	{
		...{
			title: "that Esc interrupts when pressed twice",
			ladder: ["turn", "esc", "esc", "sigterm"],
		},
		script: { ...WORKS, interrupt: "esc_twice" },
		...{ steps: ["turn", "esc", "esc", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that Ctrl-C interrupts", ladder: ["turn", "ctrl_c", "sigterm"] },
		script: { ...WORKS, interrupt: "ctrl_c" },
		...{ steps: ["turn", "ctrl_c", "sigterm"], outcome: "graceful" },
	},
	{
		title: "that Ctrl-C interrupts when pressed twice",
		ladder: ["turn", "ctrl_c", "ctrl_c", "sigterm"],
		script: { ...WORKS, interrupt: "ctrl_c_twice" },
		...{ steps: ["turn", "ctrl_c", "ctrl_c", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that no key interrupts", ladder: "claude" },
		script: { ...WORKS, interrupt: "nothing" },
		...{ steps: ["turn", "esc", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that ignores every signal", ladder: "claude" },
		script: { ...WORKS, interrupt: "nothing", on_sigterm: "ignores" },
		...{ steps: ["turn", "esc", "sigterm", "sigkill"], outcome: "timed_out_killed" },
	},
];

const named = ROWS.map((row, n) => ({ ...row, name: `r${n}` }));
const SCREEN = { ready: ["^❯(\\s|$)"], busy: ["esc to interrupt"] };
const adapters = named.flatMap(({ name, ladder }) =>
	ladder === "claude" ? [] : [[name, { command: ["x"], screen: SCREEN, drain: ladder }]],
);
const drained = named.map(({ name, ladder, script, endsTurn }) => {
	const adapter = ladder === "claude" ? "claude" : name;
	const drain = { timeout: endsTurn ? "60s" : "12s" };
	return [name, { adapter, script, args: ["work"], drain }] as const;
});

/** Busy from its start, with a short drain timeout. */
const AT_WORK = { adapter: "claude", args: ["work"], drain: { timeout: "1s" } };

/** Hangs in its first turn, and in no other, also after a restart. */
const hanging =
	(hangs: "silent" | "animated", steps: readonly string[], more: object = {}) =>
	(name: string, folder: string): MatrixAgent => ({
		...{ ...AT_WORK, stall: { after: "3s", steps } },
		script: { turns: [{ hangs, times: 1, counted_in: join(folder, `${name}.turns`) }], ...more },
	});

const HANGING: Readonly<Record<string, (name: string, folder: string) => MatrixAgent>> = {
	silent: hanging("silent", []),
	animated: hanging("animated", []),
	nudged: hanging("animated", ["nudge"]),
	interrupted: hanging("animated", ["interrupt", "restart"]),
	restarted: hanging("silent", ["interrupt", "restart"], { interrupt: "nothing" }),
	at_tool: () => ({
		...{ ...AT_WORK, stall: { after: "3s", steps: ["restart"] } },
		script: { turns: [{ tool: {} }] },
	}),
};

let fleet: MatrixFleet;

beforeAll(async () => {
	fleet = createMatrixFleet(
		(folder) => ({
			...Object.fromEntries(drained),
			...Object.fromEntries(
				Object.entries(HANGING).map(([name, write]) => [name, write(name, folder)]),
			),
		}),
		Object.fromEntries(adapters),
	);
	await fleet.up();
}, 120_000);
afterAll(() => fleet.close(), 60_000);

describe("stopping an agent in the middle of a turn", () => {
	const outcomes = new Map<string, string>();
	const toolsOf = (name: string) => fleet.ledgerOf(name).flatMap(({ tool_pid }) => tool_pid ?? []);

	async function takeDown(name: string, endsTurn = false): Promise<void> {
		const down = fleet.down(name);
		if (endsTurn) {
			const steps = () => fleet.data(name, "agent.drain_step");
			await until(async () => (await steps()).length > 0, "its turn is waited for");
			for (const pid of toolsOf(name)) process.kill(pid, "SIGKILL");
		}
		outcomes.set(name, await down);
	}

	beforeAll(async () => {
		for (const { name } of named) {
			await until(() => toolsOf(name).length > 0, `${name} has started its tool`);
			await fleet.shows(name, "busy");
		}
		await Promise.all(named.map(({ name, endsTurn }) => takeDown(name, endsTurn)));
	}, 240_000);

	for (const { name, title, steps, outcome } of named) {
		test(`an agent ${title} ends ${outcome === "graceful" ? "by itself" : "by force"} after ${steps.join(", ")}, and leaves nothing behind`, async () => {
			const climbed = await fleet.data(name, "agent.drain_step");
			expect(climbed.map(({ step }) => step)).toEqual(steps);
			expect(outcomes.get(name)).toBe(outcome);
			expect(await fleet.data(name, "agent.drained")).toMatchObject([{ outcome }]);
			const [exited] = await fleet.data(name, "agent.exited");
			expect(exited).toMatchObject({
				cause: "requested",
				...(outcome === "graceful" ? { code: 143 } : { signal: "SIGKILL" }),
			});
			const pids = fleet.ledgerOf(name).flatMap(({ pid, tool_pid }) => [pid, tool_pid ?? pid]);
			// A zombie has exited; its new parent has not reaped it yet.
			const alive = readProcessTable().entries.filter(({ ended }) => !ended);
			expect(alive.filter(({ pid }) => pids.includes(pid))).toEqual([]);
		});
	}

	test("lets a turn that finishes print its answer", () => {
		const reported = fleet.ledgerOf("r0").flatMap((line) => line.last_assistant_message ?? []);
		expect(reported).toEqual(["done"]);
	});
});

describe("a stalled turn", () => {
	const steps = async (name: string) =>
		(await fleet.data(name, "agent.stalled")).map(({ step }) => step);
	const takes = async (name: string, ...expected: readonly string[]) => {
		const enough = async () => (await steps(name)).length >= expected.length;
		await until(enough, `${name} is met with ${expected.join(", then ")}`);
		expect(await steps(name)).toEqual(expected);
	};

	test.each(["silent", "animated"])(
		"a turn that hangs, %s, is detected and reported",
		async (name) => {
			await takes(name, "notice");
			expect(await fleet.agent(name)).toMatchObject({ activity: "busy", restarts: 0 });
		},
	);

	test("a turn that hangs is nudged with a typed message", async () => {
		await takes("nudged", "nudge");
		const typed = () => fleet.ledgerOf("nudged").filter((l) => l.hook_event_name === "Pasted");
		await until(() => typed().length > 0, "it is nudged");
		expect(typed().map(({ text }) => text)).toEqual([DEFAULT_NUDGE]);
	});

	test("a turn that hangs is interrupted, which is enough where that helps", async () => {
		await takes("interrupted", "interrupt");
		await fleet.isReady("interrupted");
		expect(await fleet.agent("interrupted")).toMatchObject({ restarts: 0, last_exit: null });
	});

	test("a turn that cannot be interrupted ends with a restart, which is not counted and keeps the conversation", async () => {
		const { conversation } = await fleet.agent("restarted");
		await takes("restarted", "interrupt", "restart");
		const starts = async () => (await fleet.data("restarted", "agent.started")).length;
		await until(async () => (await starts()) === 2, "it is started again");
		await fleet.isReady("restarted");
		const agent = await fleet.agent("restarted");
		expect(agent).toMatchObject({ conversation, policy: "healthy", consecutive_failures: 0 });
		expect(agent.last_exit).toMatchObject({ cause: "requested" });
	});

	test("an agent that waits for a silent tool is left alone meanwhile", async () => {
		expect(await steps("at_tool")).toEqual([]);
		expect(await fleet.agent("at_tool")).toMatchObject({ activity: "busy", restarts: 0 });
		expect(await steps("silent")).toEqual(["notice"]);
	});
});
