/** Reports of `up`, `restart` and `reload` about failed starts, and how a fixed agent comes back. */

import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

/** Without a sign of its own an agent is ready as soon as its process exists, long before it writes into the ledger. */
const IN_LEDGER = ", ready: { log: ready }";
const LONG = { timeout: 300_000 };
const find = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;

/** A program of the test's own, which can be taken away. */
function writeProgram(name: string, text = "#!/bin/sh\nexec sleep 1000\n", mode = 0o755): string {
	const path = join(home.folder, name);
	writeFileSync(path, text);
	chmodSync(path, mode);
	return path;
}

describe("restart", () => {
	test("fails and reports it when the program is gone (S19)", LONG, async () => {
		const program = writeProgram("agent.sh");
		home.writeFleet(`a: { command: [${program}] }\nb: { command: [sleep, '1000'] }`);
		await home.must("up");
		renameSync(program, `${program}.away`);
		const { code, stdout } = await home.reeve("restart", "--all", "--json");
		expect(code).toBe(1);
		const agents = JSON.parse(stdout);
		expect(agents.find((each: { id: string }) => each.id === "p:a")).toMatchObject({
			outcome: "graceful",
			start: { outcome: "failed", pid: null, reason: expect.stringContaining("does not exist") },
		});
		const { pid } = await find("p:b");
		expect(agents.find((each: { id: string }) => each.id === "p:b")).toMatchObject({
			outcome: "graceful",
			start: { outcome: "started", pid },
		});
	});

	test("prints the stopped and the started run, with its pid", LONG, async () => {
		home.writeFleet("a: { command: [sleep, '1000'] }");
		await home.must("up");
		const printed = await home.must("restart", "p:a");
		const { pid } = await find("p:a");
		expect(printed).toMatch(/stopped gracefully/);
		expect(printed).toMatch(new RegExp(`started.*pid ${pid}`));
	});

	test("of a halted agent fails and names resume", LONG, async () => {
		home.writeFleet(
			"a: { command: [sh, -c, 'exit 9'], crash_policy: { permanent_exit_codes: [9] } }",
		);
		await home.reeve("up");
		await eventually(async () => (await find("p:a")).policy === "halted", "it is halted");
		const { code, stdout, stderr } = await home.reeve("restart", "p:a");
		expect(code).toBe(1);
		expect(stdout + stderr).toMatch(/halted/);
		expect(stdout + stderr).toContain("reeve resume p:a");
		const up = await home.reeve("up");
		expect(up.code).toBe(1);
		expect(up.stdout + up.stderr).toContain("reeve resume p:a");
	});

	test("stops dependants first and starts them last (S7)", LONG, async () => {
		home.writeFleet(
			[
				lockedAgent(home.folder, "db", IN_LEDGER),
				lockedAgent(home.folder, "app", ", depends_on: [db]"),
			].join("\n"),
		);
		await home.must("up");
		await eventually(() => home.ledger().length === 2, "both have started");
		await home.must("restart", "--all");
		await eventually(() => home.ledger().length === 6, "both have started again");
		const seen = home.ledger().map((line) => line.split(" ").slice(0, 2).join(" "));
		expect(seen.slice(2)).toEqual(["exit app", "exit db", "start db", "start app"]);
	});
});

describe("reload", () => {
	test("leaves a running agent alone when its new program or folder is missing", LONG, async () => {
		home.writeFleet("a: { command: [sleep, '1000'] }\nb: { command: [sleep, '1000'] }");
		await home.must("up");
		const before = [await find("p:a"), await find("p:b")];
		home.writeFleet(
			"a: { command: [no-such-program-here] }\nb: { command: [sleep, '1000'], cwd: ./missing }",
		);
		const { code, stdout } = await home.reeve("reload", "--json");
		expect(code).toBe(1);
		expect(JSON.parse(stdout)).toMatchObject([
			{
				...{ id: "p:a", change: "change", outcome: null },
				start: { outcome: "failed", reason: expect.stringContaining("no-such-program-here") },
			},
			{
				...{ id: "p:b", change: "change", outcome: null },
				start: { outcome: "failed", reason: expect.stringContaining("missing") },
			},
		]);
		expect([await find("p:a"), await find("p:b")]).toMatchObject(
			before.map(({ pid }) => ({ pid, process: "running" })),
		);
		const text = await home.reeve("reload");
		expect(text.code).toBe(1);
		expect(text.stdout).toMatch(/not stopped/);
		expect(text.stdout).toContain("\n2 not changed\n");
		expect(text.stderr).toContain("keep their old ones; fix them and reload");
		// The file is newer than the running agents, so a correction is applied.
		home.writeFleet("a: { command: [sleep, '1001'] }\nb: { command: [sleep, '1000'] }");
		await home.must("reload");
		expect((await find("p:a")).pid).not.toBe(before[0]?.pid);
		expect((await find("p:b")).pid).toBe(before[1]?.pid);
	});

	test(
		"prints the stopped and started agents, and fails if an added agent cannot start",
		LONG,
		async () => {
			home.writeFleet("a: { command: [sleep, '1000'] }");
			await home.must("up");
			home.writeFleet("a: { command: [sleep, '1001'] }");
			const printed = await home.must("reload");
			expect(printed).toMatch(/stopped gracefully/);
			expect(printed).toMatch(new RegExp(`started.*pid ${(await find("p:a")).pid}`));
			home.writeFleet("a: { command: [sleep, '1001'] }\nb: { command: [no-such-program-here] }");
			const { code, stdout } = await home.reeve("reload");
			expect(code).toBe(1);
			expect(stdout).toContain("no-such-program-here");
		},
	);

	test("stops dependants first (S7)", LONG, async () => {
		const fleet = (more: string) =>
			home.writeFleet(
				[
					lockedAgent(home.folder, "db", `${IN_LEDGER}${more}`),
					// The dependant takes its time, so that a drain of both at once would be seen.
					lockedAgent(home.folder, "app", `, depends_on: [db], args: ['700']${more}`),
				].join("\n"),
			);
		fleet("");
		await home.must("up");
		await eventually(() => home.ledger().length === 2, "both have started");
		fleet(", env: { CHANGED: 'yes' }");
		await home.must("reload");
		await eventually(() => home.ledger().length === 6, "both have started again");
		const seen = home.ledger().map((line) => line.split(" ").slice(0, 2).join(" "));
		expect(seen.slice(2)).toEqual(["exit app", "exit db", "start db", "start app"]);
	});
});

describe("a fixed agent", () => {
	test.each([
		["a program that may be executed again", ""],
		["a folder that exists again", ", args: ['1000'], cwd: ./late"],
	])("starts with the next up: %s", LONG, async (_, more) => {
		const path = more === "" ? writeProgram("late.sh", undefined, 0o644) : "/bin/sleep";
		home.writeFleet(`a: { command: [${path}]${more} }`);
		expect((await home.reeve("up")).code).toBe(1);
		expect(await find("p:a")).toMatchObject({ policy: "halted" });
		expect((await home.reeve("up")).code).toBe(1);
		if (more === "") chmodSync(path, 0o755);
		else mkdirSync(join(home.folder, "late"));
		await home.must("up");
		expect(await find("p:a")).toMatchObject({ policy: "healthy", process: "running" });
	});

	test("starts with a restart", LONG, async () => {
		const path = writeProgram("late.sh", undefined, 0o644);
		home.writeFleet(`a: { command: [${path}] }`);
		expect((await home.reeve("up")).code).toBe(1);
		chmodSync(path, 0o755);
		await home.must("restart", "p:a");
		expect(await find("p:a")).toMatchObject({ policy: "healthy", process: "running" });
	});

	test.each(["up", "reload"])("starts fresh when %s takes its new settings", LONG, async (verb) => {
		const policy = "crash_policy: { permanent_exit_codes: [9] }";
		home.writeFleet(`a: { command: [sh, -c, 'exit 9'], ${policy} }`);
		await home.reeve("up");
		await eventually(async () => (await find("p:a")).policy === "halted", "it is halted");
		home.writeFleet(`a: { command: [sleep, '1000'], ${policy} }`);
		await home.must(verb);
		expect(await find("p:a")).toMatchObject({ policy: "healthy", process: "running" });
	});
});

test("up reports that a running agent has old settings", LONG, async () => {
	home.writeFleet("a: { command: [sleep, '1000'] }");
	await home.must("up");
	home.writeFleet("a: { command: [sleep, '1001'] }");
	const printed = await home.must("up");
	expect(printed).toMatch(/running with its old settings/);
});
