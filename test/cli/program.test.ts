import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { REEVE, runReeve } from "../support/reeve.js";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

describe("the command line", () => {
	test.each(["--version", "-V"])("%s prints the version", async (flag) => {
		expect(await runReeve([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
	});

	test("--help goes to stdout and names every command", async () => {
		const { code, stdout, stderr } = await runReeve(["--help"]);
		expect(code).toBe(0);
		expect(stderr).toBe("");
		for (const command of ["init", "validate", "explain", "demo"])
			expect(stdout).toContain(command);
	});

	test("no arguments are a usage error that shows the help", async () => {
		const { code, stdout, stderr } = await runReeve([]);
		expect(code).toBe(2);
		expect(stdout).toBe("");
		expect(stderr).toContain("Usage: reeve");
	});

	test("a misspelt command is a usage error with a suggestion", async () => {
		const { code, stderr } = await runReeve(["vlidate"]);
		expect(code).toBe(2);
		expect(stderr).toContain("unknown command `vlidate`");
		expect(stderr).toContain("Did you mean validate?");
	});

	test("an unknown option is a usage error", async () => {
		const { code, stderr } = await runReeve(["validate", "--jsno"]);
		expect(code).toBe(2);
		expect(stderr).toContain("unknown option '--jsno'");
		expect(stderr).toContain("--json");
	});

	test("a usage error is JSON too, when asked for", async () => {
		for (const args of [
			["validate", "--nope", "--json"],
			["explain", "--json"],
		]) {
			const { code, stdout } = await runReeve(args);
			expect(code).toBe(2);
			expect(JSON.parse(stdout)).toMatchObject({ error: { code: "usage" } });
		}
	});

	test("colours can be forced on and off", async () => {
		const args = ["explain", "-s", "1"];
		const colored = async (env: Record<string, string>) =>
			(await runReeve(args, { env })).stdout.includes("\u001b[");
		expect(await colored({})).toBe(false);
		expect(await colored({ FORCE_COLOR: "1" })).toBe(true);
		expect(await colored({ FORCE_COLOR: "0" })).toBe(false);
		expect(await colored({ FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(false);
	});

	test("output that cannot be written is reported in one line", ({ skip }) => {
		skip(!existsSync("/dev/full"), "this system has no /dev/full");
		const command = `"${process.execPath}" "${REEVE}" explain -s 1 > /dev/full`;
		const ran = spawnSync("sh", ["-c", command], { encoding: "utf8" });
		expect(ran.status).toBe(1);
		expect(ran.stderr).toMatch(/^error: cannot write the output: .*\n$/);
	});

	test("a pipe that closes early ends it quietly", () => {
		const command = `"${process.execPath}" "${REEVE}" explain --simulate "1@10m x9000" | head -n 1`;
		const ran = spawnSync("sh", ["-c", command], { encoding: "utf8" });
		expect(ran.stdout).toMatch(/^# +TIME/);
		expect(ran.stderr).toBe("");
	});
});
