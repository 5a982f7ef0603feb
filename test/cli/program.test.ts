import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runReeve } from "../support/reeve.js";

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

	test("nothing at all is a usage error that shows the help", async () => {
		const { code, stdout, stderr } = await runReeve([]);
		expect(code).toBe(2);
		expect(stdout).toBe("");
		expect(stderr).toContain("Usage: reeve");
	});

	test("a command that is nearly right is a usage error that says what is meant", async () => {
		const { code, stderr } = await runReeve(["vlidate"]);
		expect(code).toBe(2);
		expect(stderr).toContain("unknown command 'vlidate'");
		expect(stderr).toContain("validate?");
	});

	test("an unknown option is a usage error", async () => {
		const { code, stderr } = await runReeve(["validate", "--jsno"]);
		expect(code).toBe(2);
		expect(stderr).toContain("unknown option '--jsno'");
		expect(stderr).toContain("--json");
	});

	test("a pipe that closes early ends it quietly", async () => {
		const { spawnSync } = await import("node:child_process");
		const { REEVE } = await import("../support/reeve.js");
		const command = `"${process.execPath}" "${REEVE}" explain --simulate "1@10m x9000" | head -n 1`;
		const ran = spawnSync("sh", ["-c", command], { encoding: "utf8" });
		expect(ran.stdout).toMatch(/^# +TIME/);
		expect(ran.stderr).toBe("");
	});
});
