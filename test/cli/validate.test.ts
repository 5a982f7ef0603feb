import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runReeve, temporaryFolder } from "../support/reeve.js";

const TEN_MISTAKES = `version: 1
defaults:
  timeout: 30
projects:
  web:
    agents:
      coder:
        adaptor: claude
        command: [claude]
        depends_on: [dbb]
      db:
        command: node db.mjs
        kind: sesion
      Bad_Name:
        command: [x]
      api:
        command: [node, api.mjs]
        env: { PORT: 8080 }
        limits: { memory: 2GB }
        crash_policy: { flap_threshold: 11 }
      git:
        kind: call
        command: [git]
        command: [git, status]
`;

describe("reeve validate", () => {
	test("prints ten located, helpful errors for ten mistakes and exits 2", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "reeve.yaml"), TEN_MISTAKES);
		const { code, stdout, stderr } = await runReeve(["validate"], { cwd });
		expect(code).toBe(2);
		expect(stderr).toBe("");
		const located = stdout.split("\n").filter((line) => line.startsWith("reeve.yaml:"));
		expect(located.map((line) => line.split(":").slice(0, 3).join(":"))).toEqual([
			"reeve.yaml:3:12",
			"reeve.yaml:8:9",
			"reeve.yaml:10:22",
			"reeve.yaml:12:18",
			"reeve.yaml:13:15",
			"reeve.yaml:14:7",
			"reeve.yaml:18:22",
			"reeve.yaml:19:27",
			"reeve.yaml:20:41",
			"reeve.yaml:24:9",
			"reeve.yaml: 10 problems",
		]);
		expect(stdout).toContain("did you mean `adapter`?");
	});

	test("accepts names of JavaScript's own object members like any other, and refuses __proto__", async () => {
		const cwd = temporaryFolder();
		const fleet = (env: string) => `version: 1
adapters:
  constructor: { command: [cat] }
projects:
  p:
    agents:
      constructor: { adapter: constructor, env: { ${env}: x, toString: y } }
`;
		writeFileSync(join(cwd, "reeve.yaml"), fleet("constructor"));
		expect(await runReeve(["validate"], { cwd })).toMatchObject({ code: 0, stderr: "" });
		writeFileSync(join(cwd, "reeve.yaml"), fleet("__proto__"));
		const { code, stdout } = await runReeve(["validate"], { cwd });
		expect(code).toBe(2);
		expect(stdout).toContain("env.__proto__: this name is reserved");
	});

	test("gives the same as JSON", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "fleet.yaml"), TEN_MISTAKES);
		const { code, stdout } = await runReeve(["validate", "fleet.yaml", "--json"], { cwd });
		expect(code).toBe(2);
		const result = JSON.parse(stdout) as { valid: boolean; problems: object[] };
		expect(result.valid).toBe(false);
		expect(result.problems[1]).toEqual({
			file: "fleet.yaml",
			line: 8,
			column: 9,
			path: "projects.web.agents.coder.adaptor",
			message: "unknown key `adaptor`",
			expected: null,
			hint: "did you mean `adapter`?",
		});
	});

	test("a missing file is reported with a hint, exit 2", async () => {
		const { code, stderr } = await runReeve(["validate"], { cwd: temporaryFolder() });
		expect(code).toBe(2);
		expect(stderr).toContain("fleet file not found: reeve.yaml");
		expect(stderr).toContain("reeve init");
	});

	test("a directory in its place is reported", async () => {
		const { code, stdout } = await runReeve(["validate", "."], { cwd: temporaryFolder() });
		expect([code, stdout]).toEqual([2, expect.stringContaining("a directory, not a file")]);
	});

	test("takes the file as an argument or as an option", async () => {
		const cwd = temporaryFolder();
		writeFileSync(join(cwd, "a b.yaml"), "version: 1\nprojects: {}\n");
		for (const args of [["a b.yaml"], ["--file", "a b.yaml"]]) {
			const { stdout } = await runReeve(["validate", ...args], { cwd });
			expect(stdout).toBe("a b.yaml: valid, 0 agents\n");
		}
	});

	test("a file's name cannot write on the terminal", async () => {
		const { stdout, stderr } = await runReeve(["validate", "\u001b[31mred.yaml"]);
		expect(stdout + stderr).not.toContain("\u001b");
	});

	test("never prints a secret, expanded or written out", async () => {
		const cwd = temporaryFolder();
		const fleet = `version: 1
projects:
  web:
    agents:
      coder:
        command: [node]
        timeout: \${TOKEN}
        kind: \${TOKEN}
        env:
          A: s3cret-canary
          TOKEN: \${TOKEN}
          B: [s3cret-canary]
          "C=s3cret-canary": x
`;
		writeFileSync(join(cwd, "reeve.yaml"), fleet);
		const env = { TOKEN: "s3cret-canary" };
		for (const flags of [[], ["--json"]]) {
			const { code, stdout, stderr } = await runReeve(["validate", ...flags], { cwd, env });
			expect(code).toBe(2);
			expect(stdout + stderr).not.toContain("s3cret-canary");
		}
	});
});
