import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { decideNeed, describeWithTmux } from "./needs.js";

describe("tests that need a program of the system", () => {
	test("run where it is there, in CI or not", () => {
		expect(decideNeed(null, true)).toEqual({ type: "run" });
		expect(decideNeed(null, false)).toEqual({ type: "run" });
	});

	test("are skipped with the reason where it is missing", () => {
		expect(decideNeed("no tmux", false)).toEqual({ type: "skip", reason: "no tmux" });
	});

	test("fail in CI, where a skipped test would go unnoticed", () => {
		expect(decideNeed("no tmux", true)).toEqual({ type: "fail", reason: "no tmux" });
	});
});

describeWithTmux("a tmux that is there", () => {
	test("reports its version", () => {
		expect(execFileSync("tmux", ["-V"], { encoding: "utf8" })).toMatch(/^tmux /);
	});
});
