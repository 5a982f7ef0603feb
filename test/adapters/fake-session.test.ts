/** A whole session under a real daemon: the fake agent speaks claude's arguments and hooks. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { killProcess } from "../support/kill.js";

/** The built one: the agent is a program of its own. */
const { fakeAgentCommand } = (await import(
	new URL("../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../src/testing/index.js");

let fleet: FleetHome;

beforeEach(() => {
	fleet = createFleetHome();
});
afterEach(() => fleet.close());

const agent = async () => (await fleet.ps())[0];
const activity = async () => (await agent())?.activity;
const ledger = () =>
	readFileSync(join(fleet.folder, "fake.jsonl"), "utf8")
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as Record<string, unknown>);

function writeFleet(script: object): void {
	const command = fakeAgentCommand({
		ledger: join(fleet.folder, "fake.jsonl"),
		...script,
	});
	fleet.writeFleet(
		`a: { adapter: claude, backend: pty, command: ${JSON.stringify(command)}, drain: { timeout: 20s } }`,
	);
}

test("a start that asks twice is answered by label under a daemon that was killed meanwhile, and the same conversation continues after a kill", async () => {
	writeFleet({
		dialogs: [
			{
				...{ title: "Do you trust the files in this folder?", accepts: ["Yes, proceed"] },
				...{ choices: ["No, exit", "Yes, proceed"] },
			},
			{
				...{ title: "Running in Bypass Permissions mode", accepts: ["Yes, I accept"] },
				...{ choices: ["No, exit", "Yes, I accept"] },
			},
		],
	});
	await fleet.must("up");
	await fleet.killDaemon();
	await fleet.must("daemon", "start");
	await eventually(async () => (await activity()) === "ready", "it is ready");
	const before = await agent();
	expect(before).toMatchObject({ ready: true, restarts: 0, activity_source: expect.any(String) });
	await fleet.must("send", "p:a", "hello");
	await eventually(
		() => ledger().some((line) => line["hook_event_name"] === "Stop"),
		"the turn has ended",
	);
	killProcess(before?.pid);
	await eventually(async () => {
		const now = await agent();
		return now?.pid !== before?.pid && now?.activity === "ready";
	}, "it is ready again");
	const after = await agent();
	expect(after?.conversation).toBe(before?.conversation);
	const starts = ledger().filter((line) => line["hook_event_name"] === "SessionStart");
	expect(starts.map((line) => line["session_id"])).toEqual([
		before?.conversation,
		before?.conversation,
	]);
	expect(await fleet.must("down", "--all")).toContain("gracefully");
}, 120_000);
