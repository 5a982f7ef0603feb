import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runQuietly } from "../../scripts/lib/run.mjs";
import { renderCounts } from "./count-reporter.js";

const REPORTER = resolve("test/support/count-reporter.ts");
const NEEDS = resolve("test/support/needs.ts");

/** Inside the checkout, since the planted tests import vitest. */
let folder: string;

beforeAll(() => {
	folder = mkdtempSync(resolve(".planted-"));
	writeFileSync(join(folder, "vitest.config.mjs"), "export default { test: {} };\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs vitest on one planted test file, in this environment, and returns its output. */
async function runPlanted(name: string, body: string, { args = [] as string[], env = {} } = {}) {
	mkdirSync(join(folder, name));
	const text = `import { beforeAll, describe, expect, test } from "vitest";\n${body}`;
	writeFileSync(join(folder, name, "planted.test.ts"), text);
	const vitest = [resolve("node_modules/vitest/vitest.mjs"), "run", `${name}/`];
	const reporters = ["--reporter=default", `--reporter=${REPORTER}`];
	const { code, output } = await runQuietly(process.execPath, [...vitest, ...reporters, ...args], {
		cwd: folder,
		env: { ...process.env, NO_COLOR: "1", ...env },
	});
	return { code, output, lines: output.split("\n") };
}

describe("the line that ends a run", { timeout: 60_000 }, () => {
	test("has no third part when nothing was skipped", () => {
		expect(renderCounts({ passed: 12, failed: 0, skipped: 0 })).toBe("12 passed, 0 failed");
		expect(renderCounts({ passed: 1, failed: 2, skipped: 3 })).toBe(
			"1 passed, 2 failed, 3 skipped",
		);
	});

	test("is printed after everything else, including the coverage", async () => {
		const { code, output, lines } = await runPlanted(
			"green",
			`test("holds", () => expect(1).toBe(1));`,
			{ args: ["--coverage", "--coverage.reporter=text"] },
		);
		expect(output).toContain("Coverage report");
		expect(lines.slice(-2)).toEqual(["1 passed, 0 failed", ""]);
		expect(code).toBe(0);
	});

	test("counts each way to fail, and lists each skipped test above it with its reason", async () => {
		const { code, lines } = await runPlanted(
			"mixed",
			`test("holds", () => expect(1).toBe(1));
			test("does not hold", () => expect(1).toBe(2));
			test("gives a reason", (context) => context.skip("not today"));
			test("says nothing", { skip: true }, () => {});`,
		);
		expect(lines.slice(-4)).toEqual([
			"skipped: mixed/planted.test.ts > gives a reason: not today",
			"skipped: mixed/planted.test.ts > says nothing: no reason given",
			"1 passed, 1 failed, 2 skipped",
			"",
		]);
		expect(code).toBe(1);
	});

	test("names a test that passed only when it was repeated", async () => {
		const { code, lines } = await runPlanted(
			"repeated",
			`let tries = 0;
			test("holds at last", () => expect(++tries).toBe(2));
			test("holds", () => expect(1).toBe(1));`,
			{ args: ["--retry=1"] },
		);
		expect(lines.slice(-3)).toEqual([
			"failed at first, then passed: repeated/planted.test.ts > holds at last",
			"2 passed, 0 failed",
			"",
		]);
		expect(code).toBe(0);
	});

	test("does not read `0 failed` when a file does not even load", async () => {
		const { code, lines } = await runPlanted("broken", `throw new Error("at load");`);
		expect(lines.at(-2)).toBe("0 passed, 1 failed");
		expect(code).toBe(1);
	});

	test("counts a set-up that failed and an error outside of every test", async () => {
		const { code, lines } = await runPlanted(
			"stray",
			`describe("set up", () => {
				beforeAll(() => { throw new Error("set-up"); });
				test("never runs", () => {});
			});
			test("leaves a rejection behind", () => { void Promise.reject(new Error("stray")); });`,
		);
		expect(lines.at(-2)).toMatch(/^1 passed, 2 failed/);
		expect(code).toBe(1);
	});
});

describe("tests that need tmux, where there is none", { timeout: 60_000 }, () => {
	const needy = `import { describeWithTmux } from ${JSON.stringify(NEEDS)};
		describeWithTmux("sessions", () => {
			beforeAll(() => { throw new Error("a skipped suite must not set up"); });
			describe("inner", () => test("deep", () => {}));
		});`;
	const missing = "tmux 3.0 or newer is missing (a real terminal for sessions)";

	test("are skipped with the reason", async () => {
		const env = { PATH: folder, CI: "" };
		const { code, lines } = await runPlanted("without-tmux", needy, { env });
		expect(lines.slice(-3)).toEqual([
			`skipped: without-tmux/planted.test.ts > sessions > inner > deep: ${missing}`,
			"0 passed, 0 failed, 1 skipped",
			"",
		]);
		expect(code).toBe(0);
	});

	test("fail in CI", async () => {
		const env = { PATH: folder, CI: "true" };
		const { code, output, lines } = await runPlanted("without-tmux-in-ci", needy, { env });
		expect(output).toContain(missing);
		expect(lines.at(-2)).toBe("0 passed, 1 failed");
		expect(code).toBe(1);
	});
});
