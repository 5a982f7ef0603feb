import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runReeve, temporaryFolder } from "../support/reeve.js";

/** A folder with programs of these names that can be executed. */
function fakePath(...names: string[]): string {
	const folder = temporaryFolder();
	for (const name of names) {
		writeFileSync(join(folder, name), "#!/bin/sh\n");
		chmodSync(join(folder, name), 0o755);
	}
	return folder;
}

describe("reeve init", () => {
	test("writes an agent for each CLI that is installed, and the file is valid", async () => {
		const cwd = join(temporaryFolder(), "My App");
		mkdirSync(cwd);
		const env = { PATH: fakePath("claude", "opencode", "vim") };
		const { code, stdout, stderr } = await runReeve(["init"], { cwd, env });
		expect([code, stdout]).toEqual([0, "wrote reeve.yaml\n"]);
		expect(stderr).toContain("found claude, opencode: added each as an agent of project my-app");

		const ran = await runReeve(["validate", "--json"], { cwd });
		expect(JSON.parse(ran.stdout)).toMatchObject({
			valid: true,
			agents: [
				{ id: "my-app:claude", kind: "session" },
				{ id: "my-app:opencode", kind: "session" },
			],
		});
	});

	test("writes a placeholder if none is installed, and that is valid too", async () => {
		const cwd = temporaryFolder();
		const { stderr } = await runReeve(["init"], { cwd, env: { PATH: fakePath() } });
		expect(stderr).toContain("found none of claude, codex, gemini, opencode, pi, aider on PATH");
		expect((await runReeve(["validate"], { cwd })).stdout).toBe("reeve.yaml: valid, 1 agent\n");
	});

	test.each(["2024", "true", "null", "1e3", "0x1f"])(
		"is valid in a folder called %s",
		async (name) => {
			const cwd = join(temporaryFolder(), name);
			mkdirSync(cwd);
			await runReeve(["init"], { cwd });
			expect((await runReeve(["validate"], { cwd })).code).toBe(0);
		},
	);

	test("does not treat a folder, or a file that is not executable, as a program", async () => {
		const path = fakePath();
		mkdirSync(join(path, "claude"));
		writeFileSync(join(path, "codex"), "");
		symlinkSync("/nowhere", join(path, "gemini"));
		const ran = await runReeve(["init", "--json"], { cwd: temporaryFolder(), env: { PATH: path } });
		expect(JSON.parse(ran.stdout)).toMatchObject({ adapters: [] });
	});

	test("points editors at the schema in its first line, and the schema exists", async () => {
		const cwd = temporaryFolder();
		await runReeve(["init"], { cwd });
		const [first = ""] = readFileSync(join(cwd, "reeve.yaml"), "utf8").split("\n");
		const url = /^# yaml-language-server: \$schema=(file:.*)$/.exec(first)?.[1] ?? "";
		expect(JSON.parse(readFileSync(fileURLToPath(url), "utf8"))).toHaveProperty(
			"properties.version",
		);
	});

	test("never overwrites: refuses with exit code 5 and leaves the file as it is", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "reeve.yaml"), "mine\n");
		const { code, stderr } = await runReeve(["init"], { cwd });
		expect(code).toBe(5);
		expect(stderr).toContain("already exists");
		expect(readFileSync(join(cwd, "reeve.yaml"), "utf8")).toBe("mine\n");
	});

	test("reports when the file cannot be written", async () => {
		const cwd = temporaryFolder();
		const { code, stderr } = await runReeve(["init", "--file", "no/such/folder/reeve.yaml"], {
			cwd,
		});
		expect(code).toBe(1);
		expect(stderr).toMatch(/error: cannot write .*no such file or directory/);
	});
});
