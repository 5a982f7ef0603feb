/**
 * Output and reports of an agent that are lost while the disk is full and no daemon runs: the next daemon must not take
 * the old screen for the current one, and messages must reach the agent.
 */

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { fill, mountDisk } from "../store/support.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

/** The built one: the agent is a program of its own. */
const { fakeAgentCommand } = (await import(
	new URL("../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../src/testing/index.js");

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const agent = async () => (await home.ps()).find(({ id }) => id === "p:a");

test.skipIf(process.getuid?.() !== 0).each(["pty", "tmux"])(
	"a turn that ends on a full disk is over for the next daemon: %s",
	{
		timeout: 300_000,
	},
	async (backend) => {
		const disk = mountDisk(16_384);
		home = createFleetHome(
			typeof disk === "string" ? {} : { REEVE_HOME: join(disk.folder, "home") },
		);
		if (typeof disk === "string") throw new Error(disk);
		const ledger = join(home.folder, "ledger.jsonl");
		const turns = [{ when: "first", tool: {}, reply: "done" }, { reply: "done" }];
		const command = JSON.stringify(fakeAgentCommand({ ledger, turns }));
		home.writeFleet(`a: { adapter: claude, command: ${command}, backend: ${backend} }`);
		await home.must("up");
		await eventually(async () => (await agent())?.activity === "ready", "it is ready");
		await home.must("send", "p:a", "the first");
		await eventually(async () => (await agent())?.activity === "busy", "it is busy");
		await eventually(() => readFileSync(ledger, "utf8").includes("tool_pid"), "its tool runs");
		const { pid } = (await agent()) ?? {};
		await home.killDaemon();

		const ballast = join(disk.folder, "ballast");
		fill(ballast);
		// The last block of the log has room for a few more pictures of its spinner.
		const log = join(disk.folder, "home", "logs", "p", "a", "current.log");
		await eventually(async () => {
			const before = statSync(log).size;
			await sleep(1_000);
			return statSync(log).size === before;
		}, "its output is lost");
		const reported = () => readFileSync(ledger, "utf8");
		process.kill(Number(/"tool_pid":(\d+)/.exec(reported())?.[1]), "SIGTERM");
		await eventually(() => reported().includes('"Stop"'), "its turn is over");
		// Drawing the end of the turn comes after its report.
		await sleep(500);
		writeFileSync(ballast, "");

		await home.must("daemon", "start");
		await eventually(async () => (await agent())?.activity === "ready", "it is known to be ready");
		await home.must("send", "p:a", "the second");
		await eventually(() => reported().includes('"prompt":"the second"'), "the message has arrived");
		const { lines, incomplete } = JSON.parse(await home.must("screen", "p:a", "--json")) as {
			readonly lines: readonly string[];
			readonly incomplete: boolean;
		};
		expect(incomplete).toBe(false);
		expect(lines.join("\n")).toContain("> the second");
		expect((await agent())?.pid).toBe(pid);
		expect(await home.must("logs", "p:a")).toContain("bytes of output were not kept: disk full");
	},
);
