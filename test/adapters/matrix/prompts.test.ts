/**
 * Messages arrive exactly once, even if the daemon dies at any of several points, or the agent between typing and
 * Enter. All agents share one scenario, since every death of the daemon affects all of them. The oracle is the agents'
 * ledgers, which contain each submitted prompt.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMatrixFleet, type MatrixFleet, until } from "./matrix-fleet.js";

/** Takes a while, so that there is a time in which an agent is busy. */
const SLOW = { turns: [{ when: "slow", takes: "2s", reply: "done" }] };
const NAMES = ["busy", "accepted", "pasted", "submitted", "mortal", "working"];
const refused: { code: number | null; taken: readonly string[] } = { code: null, taken: [] };
let fleet: MatrixFleet;

beforeAll(async () => {
	const agent = { adapter: "claude", script: SLOW };
	fleet = createMatrixFleet(() => Object.fromEntries(NAMES.map((name) => [name, agent])));
	await fleet.up();
	await fleet.isReady(...NAMES);

	await send("busy", "slow one", "two", "three");
	await took("busy", "slow one");
	await killDaemon(() => send("accepted", "one", "two"));
	await killDaemon(async () => {
		await send("pasted", "one", "two");
		await has("pasted", "Pasted");
	});
	await killDaemon(async () => {
		await send("submitted", "one", "two");
		await has("submitted", "UserPromptSubmit");
	});
	const pid = await fleet.pidOf("mortal");
	await send("mortal", "one", "two");
	await has("mortal", "Pasted");
	process.kill(pid, "SIGKILL");
	await killDaemon(async () => {
		await send("working", "slow one");
		await took("working", "slow one");
		await send("working", "two");
	}, withoutDaemon);
}, 240_000);
afterAll(() => fleet.close(), 60_000);

/** Without a daemon, agents finish their turns, and nothing is accepted. */
async function withoutDaemon(): Promise<void> {
	refused.code = (await fleet.reeve("send", "p:working", "never")).code;
	await has("working", "Stop");
	refused.taken = fleet.prompts("working");
}

async function send(name: string, ...texts: readonly string[]): Promise<void> {
	for (const text of texts) await fleet.send(name, text);
}

/** With `kill -9`, at this very moment; then there is another one. */
async function killDaemon(
	at: () => Promise<void>,
	meanwhile: () => Promise<void> = async () => {},
): Promise<void> {
	await fleet.killDaemon(at);
	await meanwhile();
	await fleet.must("daemon", "start");
}

/** Polled often: the next step follows within a third of a second. */
async function has(name: string, event: string): Promise<void> {
	const isThere = () => fleet.ledgerOf(name).some((line) => line.hook_event_name === event);
	for (let looks = 0; looks < 10_000 && !isThere(); looks++) await sleep(5);
	expect(isThere(), `${name} has ${event}`).toBe(true);
}

const took = (name: string, text: string) =>
	until(() => fleet.prompts(name).includes(text), `${name} has taken ${text}`);

test.each([
	["that works meanwhile, in order, when it is done", "busy", ["slow one", "two", "three"]],
	["whose daemon is killed as soon as it is accepted", "accepted", ["one", "two"]],
	["whose daemon is killed between typing and Enter", "pasted", ["one", "two"]],
	["whose daemon is killed before it sees the submission", "submitted", ["one", "two"]],
	["that is killed itself between typing and Enter", "mortal", ["one", "two"]],
	["that comes to the end of its turn while no daemon runs", "working", ["slow one", "two"]],
])("a message arrives once at an agent %s", async (_, name, texts) => {
	await took(name, texts.at(-1) ?? "");
	await fleet.isReady(name);
	expect(fleet.prompts(name)).toEqual(texts);
});

test("a message that is sent while no daemon runs is rejected, and does not arrive", () => {
	expect(refused).toEqual({ code: 3, taken: ["slow one"] });
});

test("no message is left in the queue, and none has failed", async () => {
	const count = async (type: string) =>
		(await fleet.events()).filter((event) => event.type === type).length;
	const sent = NAMES.flatMap((name) => fleet.prompts(name)).length;
	await until(async () => (await count("inbox.delivered")) === sent, "all are confirmed");
	expect(await count("inbox.accepted")).toBe(sent);
	expect(await count("inbox.dead")).toBe(0);
});
