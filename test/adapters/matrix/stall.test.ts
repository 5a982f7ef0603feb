/**
 * Agents that say they work and do not. What hangs is found, whether its screen moves or not, and the steps
 * of its `stall` are taken one after the other; an agent that waits for a tool is left alone.
 */

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEFAULT_NUDGE } from "../../../src/core/stall.js";
import { eventually } from "../../faults/fleet-home.js";
import { createMatrixFleet, type MatrixAgent, type MatrixFleet } from "./matrix-fleet.js";

let fleet: MatrixFleet;

/** At work from its start. Whoever ends it need not be patient. */
const WORKS = { adapter: "claude", args: ["work"], drain: { timeout: "1s" } };

/** Hangs in its first turn, and in no other, also after a restart. */
const hanging =
	(hangs: "silent" | "animated", steps: readonly string[], more: object = {}) =>
	(name: string, folder: string): MatrixAgent => ({
		...{ ...WORKS, stall: { after: "3s", steps } },
		script: { turns: [{ hangs, times: 1, counted_in: join(folder, `${name}.turns`) }], ...more },
	});

const AGENTS: Readonly<Record<string, (name: string, folder: string) => MatrixAgent>> = {
	silent: hanging("silent", []),
	animated: hanging("animated", []),
	nudged: hanging("animated", ["nudge"]),
	interrupted: hanging("animated", ["interrupt", "restart"]),
	restarted: hanging("silent", ["interrupt", "restart"], { interrupt: "nothing" }),
	at_tool: () => ({
		...{ ...WORKS, stall: { after: "3s", steps: ["restart"] } },
		script: { turns: [{ tool: {} }] },
	}),
};

beforeAll(async () => {
	fleet = createMatrixFleet((folder) =>
		Object.fromEntries(
			Object.entries(AGENTS).map(([name, describe]) => [name, describe(name, folder)]),
		),
	);
	await fleet.up();
}, 120_000);
afterAll(() => fleet.close(), 60_000);

const steps = async (name: string) =>
	(await fleet.data(name, "agent.stalled")).map(({ step }) => step);
const takes = async (name: string, ...expected: readonly string[]) => {
	const enough = async () => (await steps(name)).length >= expected.length;
	await eventually(enough, `${name} is met with ${expected.join(", then ")}`);
	expect(await steps(name)).toEqual(expected);
};

test.each(["silent", "animated"])("a turn that hangs, %s, is found and told of", async (name) => {
	await takes(name, "notice");
	expect(await fleet.agent(name)).toMatchObject({ activity: "busy", restarts: 0 });
});

test("a turn that hangs is nudged, in the words that a person would type", async () => {
	await takes("nudged", "nudge");
	const typed = () => fleet.ledgerOf("nudged").filter((l) => l.hook_event_name === "Pasted");
	await eventually(() => typed().length > 0, "it is nudged");
	expect(typed().map(({ text }) => text)).toEqual([DEFAULT_NUDGE]);
});

test("a turn that hangs is interrupted, which is enough where that helps", async () => {
	await takes("interrupted", "interrupt");
	await fleet.isReady("interrupted");
	expect(await fleet.agent("interrupted")).toMatchObject({ restarts: 0, last_exit: null });
});

test("a turn that cannot be interrupted ends with a restart, which counts as nobody's fault and keeps the conversation", async () => {
	const { conversation } = await fleet.agent("restarted");
	await takes("restarted", "interrupt", "restart");
	const starts = async () => (await fleet.data("restarted", "agent.started")).length;
	await eventually(async () => (await starts()) === 2, "it is started again");
	await fleet.isReady("restarted");
	const agent = await fleet.agent("restarted");
	expect(agent).toMatchObject({ conversation, policy: "healthy", consecutive_failures: 0 });
	expect(agent.last_exit).toMatchObject({ cause: "killed_by_us" });
});

test("an agent that waits for a silent tool is left alone meanwhile", async () => {
	expect(await steps("at_tool")).toEqual([]);
	expect(await fleet.agent("at_tool")).toMatchObject({ activity: "busy", restarts: 0 });
	expect(await steps("silent")).toEqual(["notice"]);
});
