import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runReeve, temporaryFolder } from "../support/reeve.js";

interface Row {
	at_ms: number;
	class: string | null;
	kind: string | null;
	policy: string;
	action: string;
	after_ms: number | null;
	reason: string;
}

async function simulate(exits: string, ...more: string[]) {
	const { code, stdout, stderr } = await runReeve([
		"explain",
		"--simulate",
		exits,
		"--json",
		...more,
	]);
	expect([code, stderr]).toEqual([0, ""]);
	return JSON.parse(stdout) as { exits: Row[]; unreached: number; on_clean_exit: string };
}

describe("reeve explain --simulate", () => {
	test("a process that exits immediately: transient twice, flapping five times, halted at the 7th exit", async () => {
		const { exits, unreached } = await simulate("1 x9");
		expect(exits.map((row) => row.class)).toEqual([
			"transient",
			"transient",
			...Array.from({ length: 5 }, () => "flapping"),
		]);
		expect(exits.map((row) => row.policy).indexOf("halted")).toBe(6);
		expect(exits.map((row) => row.at_ms / 1_000)).toEqual([0, 2, 4, 34, 64, 94, 124]);
		expect(unreached).toBe(2);
	});

	test("a child that lives 31 s each time: halted by the slow-burn budget", async () => {
		const { exits } = await simulate("1@31s x25");
		expect(exits).toHaveLength(20);
		expect(exits.at(-1)).toMatchObject({ policy: "halted", class: "transient", action: "halt" });
		expect(exits.at(-1)?.reason).toContain("slow-burn budget used up");
	});

	test("a child that recovers: back to healthy", async () => {
		const { exits } = await simulate("1 x3, 1@60s, 0@1h");
		expect(exits.map((row) => row.policy)).toEqual([
			"healthy",
			"healthy",
			"degraded",
			"healthy",
			"healthy",
		]);
	});

	test("shows a table with time, class, state, action and reason", async () => {
		const { code, stdout } = await runReeve(["explain", "--simulate", "1x8 resume SIGSEGV@5m"]);
		expect(code).toBe(0);
		const lines = stdout.split("\n");
		expect(lines[0]).toMatch(/^# +TIME +RAN +EXIT +CLASS +STATE +ACTION +REASON$/);
		expect(lines[3]).toMatch(/^3 +4s +0s +code 1 +flapping +degraded +restart in 30s +exit code 1/);
		expect(lines[8]).toMatch(/^8 +2m 4s +- +resume +- +healthy +restart +resumed by the operator/);
		expect(lines[9]).toMatch(/^9 +7m 4s +5m +SIGSEGV +transient +healthy/);
		expect(stdout).toContain("1 exit not reached");
	});

	test("every kind of exit accepts a count, and signal names are case-insensitive", async () => {
		const { exits } = await simulate("sigkill x3, usage_limit x2, stop@1s x2, auth x1");
		expect(exits.map((row) => row.kind)).toEqual([
			...["failed", "failed", "failed", "usage_limit", "usage_limit", "planned", "planned", "auth"],
		]);
	});

	test("every example of its own help works", async () => {
		const { stdout } = await runReeve(["explain", "--help"]);
		const examples = [...stdout.matchAll(/reeve explain .*(?:-s|--simulate) "([^"]+)"/g)];
		expect(examples.length).toBeGreaterThan(3);
		for (const [, exits = ""] of examples) await simulate(exits);
	});

	test("delays are shown without jitter, at their cap too", async () => {
		const { exits } = await simulate("usage_limit x6");
		expect(exits.at(-1)?.after_ms).toBe(3_600_000);
		expect((await simulate("overloaded x12")).exits.at(-1)?.after_ms).toBe(300_000);
	});

	test("a fleet file without an agent is a mistake, not the defaults", async () => {
		const { code, stderr } = await runReeve(["explain", "-f", "x.yaml", "-s", "1"]);
		expect([code, stderr]).toEqual([2, expect.stringContaining("--file needs an agent")]);
	});

	test("specific causes are distinguished", async () => {
		const { exits } = await simulate("usage_limit, overloaded@3m, stop@1s, out_of_memory, auth");
		expect(exits.map((row) => [row.kind, row.action])).toEqual([
			["usage_limit", "park"],
			["overloaded", "restart"],
			["planned", "none"],
			["out_of_memory", "restart"],
			["auth", "halt"],
		]);
	});

	test("clean exits follow the given setting", async () => {
		const { exits } = await simulate("0x7", "--on-clean-exit", "restart");
		expect(exits.at(-1)?.policy).toBe("halted");
		expect((await simulate("0")).exits[0]?.action).toBe("ask_operator");
	});

	test("uses an agent's own policy from the fleet file", async () => {
		const cwd = temporaryFolder();
		const fleet = `version: 1
projects:
  web:
    agents:
      coder:
        command: [sleep, "1"]
        on_clean_exit: stop
        crash_policy: { halt_threshold: 1, transient_delay: 7s }
      git: { kind: call, command: [git] }
`;
		writeFileSync(join(cwd, "reeve.yaml"), fleet);
		const ran = await runReeve(["explain", "web:coder", "--simulate", "0 1x3", "--json"], { cwd });
		const { exits } = JSON.parse(ran.stdout) as { exits: Row[] };
		expect(exits.map((row) => row.action)).toEqual(["stop", "restart", "restart", "halt"]);
		expect(exits[1]?.after_ms).toBe(7_000);

		const unknown = await runReeve(["explain", "web:codr", "--simulate", "1"], { cwd });
		expect(unknown.code).toBe(4);
		expect(unknown.stderr).toContain("reeve.yaml has no agent web:codr");
		expect(unknown.stderr).toContain("web:coder");

		const call = await runReeve(["explain", "web:git", "--simulate", "1"], { cwd });
		expect([call.code, call.stderr]).toEqual([2, expect.stringContaining("has no crash policy")]);
	});

	test.each([
		["", "the list of exits is empty"],
		["1@soon", "`soon` in `1@soon` is not a duration"],
		["256", "exit code 256 is more than 255"],
		["-1", "`-1` is not an exit"],
		["SIGFOO", "`SIGFOO` is not an exit code"],
		["crashed", "`crashed` is not an exit code"],
		["1x0", "`1x0` must repeat 1 to 10000 times"],
		["1x9999 1x9999", "19998 exits exceed the limit of 10000"],
	])("refuses %j with a clear message", async (exits, message) => {
		const { code, stdout, stderr } = await runReeve(["explain", `--simulate=${exits}`]);
		expect(code).toBe(2);
		expect(stdout).toBe("");
		expect(stderr).toContain(message);
		expect(stderr).toContain("hint: for example: 1 x7");
	});

	test("also prints its failures as JSON on request", async () => {
		const { code, stdout } = await runReeve(["explain", "--simulate", "nope", "--json"]);
		expect(code).toBe(2);
		expect(JSON.parse(stdout)).toMatchObject({ error: { code: "usage" } });
	});

	test("a missing fleet file is distinguished from an invalid one", async () => {
		const cwd = temporaryFolder();
		const missing = await runReeve(["explain", "web:coder", "--simulate", "1"], { cwd });
		expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("reeve init")]);
		writeFileSync(join(cwd, "reeve.yaml"), "version: 1\nprojcts: {}\n");
		const wrong = await runReeve(["explain", "web:coder", "--simulate", "1"], { cwd });
		expect([wrong.code, wrong.stderr]).toEqual([
			2,
			expect.stringContaining("did you mean `projects`?"),
		]);
	});
});
