/**
 * Process trees of session agents under a real daemon: what an agent leaves behind, and which processes get a grace
 * period.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { readProcessTable } from "../../src/host/process-table.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { StoppedJson } from "../../src/http/contract/shapes.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const program = (name: string) => resolve("test/fixtures/agents", name);
const find = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;
const KINDS: readonly (readonly [string, string])[] = [
	["tmux", "backend: tmux"],
	["pty", "backend: pty"],
	["tmux without a terminal", "backend: tmux, terminal: false"],
	["pty without a terminal", "backend: pty, terminal: false"],
];

/** The pids of live processes that carry the mark of a run of this home's agents. */
function marked(runIds: readonly string[]): number[] {
	const table = readProcessTable();
	return table.entries
		.filter(({ ended, pid }) => !ended && runIds.includes(table.runIdOf(pid) ?? ""))
		.map(({ pid }) => pid);
}

async function runIdsOf(type: string): Promise<string[]> {
	const lines = (await home.must("events", "--json")).trim().split("\n");
	return lines
		.map((line) => JSON.parse(line) as { type: string; run_id?: string })
		.flatMap((event) => (event.type === type ? (event.run_id ?? []) : []));
}

describe.each(KINDS)("on %s", (_, backend) => {
	test.each(["crash", "signal", "clean"])(
		"a server that an agent leaves behind is gone before the successor starts, after: %s (S1, S11, S18)",
		{ timeout: 300_000 },
		async (how) => {
			home = createFleetHome();
			const argv = [process.execPath, program("leaves-a-server-behind.mjs"), home.folder, how];
			const policy = "crash_policy: { transient_delay: 50ms, flapping_delay: 50ms }";
			home.writeFleet(
				`leaver: { command: ${JSON.stringify(argv)}, ${backend}, ${policy}, on_clean_exit: restart }`,
			);
			await home.must("up");
			const begun = () => home.ledger().filter((line) => line.startsWith("begin"));
			await eventually(() => begun().length >= 3, "the agent is restarted twice");
			await home.must("down", "--all");
			expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
			// The servers were asked to end, not killed: each has noted its exit.
			const starts = home.ledger().filter((line) => line.startsWith("start server"));
			const exits = home.ledger().filter((line) => line.startsWith("exit server"));
			expect(exits).toHaveLength(starts.length);
			expect(marked(await runIdsOf("agent.started"))).toEqual([]);
		},
	);

	test("a server left behind that ignores SIGTERM is killed when the grace period is over (S12)", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		const argv = [
			...[process.execPath, program("leaves-a-server-behind.mjs"), home.folder],
			...["crash", "ignore"],
		];
		const policy = "crash_policy: { transient_delay: 50ms, flapping_delay: 50ms }";
		home.writeFleet(
			`leaver: { command: ${JSON.stringify(argv)}, ${backend}, ${policy}, drain: { timeout: 1s } }`,
		);
		await home.must("up");
		const begun = () => home.ledger().filter((line) => line.startsWith("begin"));
		await eventually(() => begun().length >= 2, "the agent is restarted");
		await home.must("down", "--all");
		expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
		const events = await home.must("events", "--json");
		expect(events).toContain('"agent.leftovers"');
		expect(marked(await runIdsOf("agent.started"))).toEqual([]);
	});

	test("a server that outlived its agent while no daemon ran is gone before the successor starts (S18)", {
		timeout: 300_000,
	}, async () => {
		home = createFleetHome();
		const argv = [process.execPath, program("leaves-a-server-behind.mjs"), home.folder, "stay"];
		const policy = "crash_policy: { transient_delay: 50ms }";
		home.writeFleet(`leaver: { command: ${JSON.stringify(argv)}, ${backend}, ${policy} }`);
		await home.must("up");
		await eventually(() => existsSync(join(home.folder, "server.lock")), "the server is there");
		const { pid } = await find("p:leaver");
		await home.killDaemon();
		process.kill(pid as number, "SIGKILL");
		await home.must("daemon", "start");
		const begun = () => home.ledger().filter((line) => line.startsWith("begin"));
		await eventually(() => begun().length >= 2, "the agent is restarted");
		await eventually(
			() => home.ledger().filter((line) => line.startsWith("start server")).length >= 2,
			"the second server has the lock",
		);
		expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
	});

	test.each([
		["sh -c", (argv: readonly string[]) => ["sh", "-c", `${argv.join(" ")}; echo after`]],
		[
			"shells below a shell",
			(argv: readonly string[]) => [
				"sh",
				"-c",
				`sh -c "sh -c '${argv.join(" ")}; true'; true"; true`,
			],
		],
		["a script", (argv: readonly string[]) => [program("wraps-a-program.sh"), ...argv]],
		["a loop", (argv: readonly string[]) => ["sh", "-c", `while :; do ${argv.join(" ")}; done`]],
	])(
		"down gives a program that %s has started the whole grace period (S12, S19)",
		{ timeout: 300_000 },
		async (_wrapper, wrap) => {
			home = createFleetHome();
			const file = join(home.folder, "cleanup");
			const argv = wrap([process.execPath, program("cleans-up-on-sigterm.mjs"), file]);
			home.writeFleet(`wrapped: { command: ${JSON.stringify(argv)}, ${backend} }`);
			await home.must("up");
			await eventually(() => existsSync(file), "the program is ready");
			const [stopped] = JSON.parse(await home.must("down", "--all", "--json")) as StoppedJson[];
			// A loop may have started it again before it was ended itself.
			expect(readFileSync(file, "utf8")).toMatch(/^ready\nasked\nclean\n/);
			expect(stopped).toMatchObject({ outcome: "graceful", killed: [] });
		},
	);

	test("down reports the processes that it had to kill (S19)", { timeout: 300_000 }, async () => {
		home = createFleetHome();
		const file = join(home.folder, "cleanup");
		const slow = [process.execPath, program("cleans-up-on-sigterm.mjs"), file, "60000"];
		const argv = ["sh", "-c", `${slow.join(" ")}; echo after`];
		home.writeFleet(
			`wrapped: { command: ${JSON.stringify(argv)}, ${backend}, drain: { timeout: 1s } }`,
		);
		await home.must("up");
		await eventually(() => existsSync(file), "the program is ready");
		const [stopped] = JSON.parse(await home.must("down", "--all", "--json")) as StoppedJson[];
		expect(stopped).toMatchObject({
			outcome: "timed_out_killed",
			// Together with the shell, where that leads the session of the terminal.
			killed: expect.arrayContaining([
				expect.objectContaining({ name: expect.stringMatching(/node|MainThread/) }),
			]),
		});
		expect(readFileSync(file, "utf8")).toBe("ready\nasked\n");
	});
});
