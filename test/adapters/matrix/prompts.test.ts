/**
 * What is sent arrives once, whoever dies on its way: the daemon at several points of a delivery, or the
 * agent between typing and Enter. The oracle is the agents' ledgers: each prompt that was taken is there.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../faults/fleet-home.js";
import { createMatrixFleet, type MatrixFleet } from "./matrix-fleet.js";

/** Takes a while, so that there is a time in which an agent is busy. */
const SLOW = { turns: [{ when: "slow", takes: "2s", reply: "done" }] };
const NAMES = ["busy", "accepted", "pasted", "submitted", "mortal", "working"];
let fleet: MatrixFleet;

beforeAll(async () => {
	const agent = { adapter: "claude", script: SLOW };
	fleet = createMatrixFleet(() => Object.fromEntries(NAMES.map((name) => [name, agent])));
	await fleet.up();
	await fleet.isReady(...NAMES);
}, 120_000);
afterAll(() => fleet.close(), 60_000);

/** Waits closely: what is to be met lasts for a moment only. */
const sees = (name: string, event: string, text: string) =>
	eventually(
		() =>
			fleet
				.ledgerOf(name)
				.some((line) => line.hook_event_name === event && (line.text ?? line.prompt) === text),
		`${name} has ${event} ${text}`,
	);
const took = (name: string, text: string) =>
	eventually(() => fleet.prompts(name).includes(text), `${name} has taken ${text}`);
const newDaemon = () => fleet.must("daemon", "start");

test("what is sent while an agent works is typed when it is done, in order", async () => {
	await fleet.send("busy", "slow one");
	await fleet.send("busy", "two");
	await took("busy", "slow one");
	await fleet.send("busy", "three");
	await took("busy", "three");
	expect(fleet.prompts("busy")).toEqual(["slow one", "two", "three"]);
});

/** Each kills the daemon at one point of a delivery; what was accepted before is delivered by the next. */
test.each([
	["as soon as a text is accepted", "accepted", async () => {}],
	["between typing and Enter", "pasted", () => sees("pasted", "Pasted", "first")],
	["before it hears of the submission", "submitted", () => took("submitted", "first")],
] as const)(
	"a daemon that is killed %s loses nothing and repeats nothing",
	async (_, name, point) => {
		await fleet.send(name, "first");
		await fleet.send(name, "second");
		await point();
		await fleet.killDaemon();
		await newDaemon();
		await took(name, "second");
		expect(fleet.prompts(name)).toEqual(["first", "second"]);
	},
);

test("what was accepted for an agent that works while no daemon runs arrives once there is one", async () => {
	await fleet.send("working", "slow one");
	await took("working", "slow one");
	await fleet.send("working", "two");
	await fleet.killDaemon();
	const refused = await fleet.reeve("send", "p:working", "three");
	expect(refused.code).toBe(3);
	await eventually(
		() => fleet.ledgerOf("working").some((line) => line.hook_event_name === "Stop"),
		"its turn has ended",
	);
	expect(fleet.prompts("working")).toEqual(["slow one"]);
	await newDaemon();
	await took("working", "two");
	await fleet.isReady("working");
	expect(fleet.prompts("working")).toEqual(["slow one", "two"]);
});

test("an agent that is killed between typing and Enter takes it in its next run", async () => {
	const pid = await fleet.pidOf("mortal");
	await fleet.send("mortal", "first");
	await sees("mortal", "Pasted", "first");
	process.kill(pid, "SIGKILL");
	await fleet.send("mortal", "second");
	await took("mortal", "second");
	expect(fleet.prompts("mortal")).toEqual(["first", "second"]);
});

test("nothing waits any more, and nothing was given up", async () => {
	const events = await fleet.events();
	const count = (type: string) => events.filter((event) => event.type === type).length;
	expect(count("inbox.dead")).toBe(0);
	await eventually(
		async () => JSON.parse(await fleet.must("inbox", "--json")).length === 0,
		"the inbox is empty",
	);
	const prompts = NAMES.flatMap((name) => fleet.prompts(name));
	expect(count("inbox.accepted")).toBe(prompts.length);
});
