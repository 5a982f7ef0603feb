/**
 * Every rung of the ladder by which agents are asked to end, as the last one that is needed. All are taken
 * down at the same moment, in the middle of a turn, with a tool of theirs running.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { DrainRung } from "../../../src/core/adapter.js";
import { readProcessTable } from "../../../src/host/process-table.js";
import type { FakeAgentScript } from "../../../src/testing/fake-agent/script.js";
import { eventually } from "../../faults/fleet-home.js";
import { createMatrixFleet, type MatrixFleet } from "./matrix-fleet.js";

interface Row {
	readonly title: string;
	/** `claude`, or an adapter of the fleet file with this ladder. */
	readonly ladder: "claude" | readonly DrainRung[];
	readonly script: FakeAgentScript;
	readonly rungs: readonly (DrainRung | "sigkill")[];
	readonly outcome: "graceful" | "timed_out_killed";
}

/** At work for good, with a tool that nobody stops but whoever ends the agent's whole process tree. */
const WORKS = { turns: [{ tool: { left_behind: true }, reply: "never said" }] };

const ROWS: readonly Row[] = [
	{
		...{ title: "whose turn comes to its end", ladder: "claude" },
		script: { turns: [{ tool: { takes: "3s" }, reply: "done" }] },
		...{ rungs: ["turn", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that Esc interrupts", ladder: "claude", script: WORKS },
		...{ rungs: ["turn", "esc", "sigterm"], outcome: "graceful" },
	},
	{
		...{
			title: "that Esc interrupts when pressed twice",
			ladder: ["turn", "esc", "esc", "sigterm"],
		},
		script: { ...WORKS, interrupt: "esc_twice" },
		...{ rungs: ["turn", "esc", "esc", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that Ctrl-C interrupts", ladder: ["turn", "ctrl_c", "sigterm"] },
		script: { ...WORKS, interrupt: "ctrl_c" },
		...{ rungs: ["turn", "ctrl_c", "sigterm"], outcome: "graceful" },
	},
	{
		title: "that Ctrl-C interrupts when pressed twice",
		ladder: ["turn", "ctrl_c", "ctrl_c", "sigterm"],
		script: { ...WORKS, interrupt: "ctrl_c_twice" },
		...{ rungs: ["turn", "ctrl_c", "ctrl_c", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that no key interrupts", ladder: "claude" },
		script: { ...WORKS, interrupt: "nothing" },
		...{ rungs: ["turn", "esc", "sigterm"], outcome: "graceful" },
	},
	{
		...{ title: "that hears nothing at all", ladder: "claude" },
		script: { ...WORKS, interrupt: "nothing", on_sigterm: "ignores" },
		...{ rungs: ["turn", "esc", "sigterm", "sigkill"], outcome: "timed_out_killed" },
	},
];

const named = ROWS.map((row, n) => ({ ...row, name: `r${n}` }));
const SCREEN = { ready: ["^❯(\\s|$)"], busy: ["esc to interrupt"] };
const outcomes = new Map<string, string>();
let fleet: MatrixFleet;

beforeAll(async () => {
	const adapters = named.flatMap(({ name, ladder }) =>
		ladder === "claude" ? [] : [[name, { command: ["x"], screen: SCREEN, drain: ladder }]],
	);
	fleet = createMatrixFleet(
		() =>
			Object.fromEntries(
				named.map(({ name, ladder, script }) => {
					const adapter = ladder === "claude" ? "claude" : name;
					return [name, { adapter, script, args: ["work"], drain: { timeout: "12s" } }];
				}),
			),
		Object.fromEntries(adapters),
	);
	await fleet.up();
	for (const { name } of named) {
		await eventually(() => toolsOf(name).length > 0, `${name} has started its tool`);
		await fleet.shows(name, "busy");
	}
	await Promise.all(named.map(async ({ name }) => outcomes.set(name, await fleet.down(name))));
}, 120_000);
afterAll(() => fleet.close(), 60_000);

const toolsOf = (name: string) => fleet.ledgerOf(name).flatMap(({ tool_pid }) => tool_pid ?? []);

for (const { name, title, rungs, outcome } of named) {
	test(`an agent ${title} ends ${outcome === "graceful" ? "by itself" : "by force"} after ${rungs.join(", ")}, and leaves nothing behind`, async () => {
		const climbed = await fleet.data(name, "agent.drain_rung");
		expect(climbed.map(({ rung }) => rung)).toEqual(rungs);
		expect(outcomes.get(name)).toBe(outcome);
		expect(await fleet.data(name, "agent.drained")).toMatchObject([{ outcome }]);
		const [exited] = await fleet.data(name, "agent.exited");
		expect(exited).toMatchObject({
			cause: "killed_by_us",
			...(outcome === "graceful" ? { code: 143 } : { signal: "SIGKILL" }),
		});
		const pids = fleet.ledgerOf(name).flatMap(({ pid, tool_pid }) => [pid, tool_pid ?? pid]);
		// A zombie has ended: only its new parent has not looked yet.
		const alive = readProcessTable().entries.filter(({ ended }) => !ended);
		expect(alive.filter(({ pid }) => pids.includes(pid))).toEqual([]);
	});
}

test("the turn that came to its end was let say what it had to", () => {
	const told = fleet.ledgerOf("r0").flatMap((line) => line.last_assistant_message ?? []);
	expect(told).toEqual(["done"]);
});
