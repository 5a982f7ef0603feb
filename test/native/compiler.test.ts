/** The native program as the system's compiler builds it: without warnings, and with sanitizers that find nothing. */

import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeIfAllowed } from "../support/needs.js";
import { type Build, compileNative, whyNoCompiler } from "./support/compile.js";
import { describeNative } from "./support/describe-native.js";

const missing = whyNoCompiler();
const permission =
	missing === null ? ({ type: "run" } as const) : ({ type: "skip", reason: missing } as const);

describeIfAllowed(permission, "built with warnings as errors", () => {
	let build: Build;
	beforeAll(() => {
		build = compileNative(false);
	}, 300_000);
	afterAll(() => build?.remove());
	describeNative("the native program", () => build.binary);
});

describeIfAllowed(permission, "built with address and undefined-behaviour sanitizers", () => {
	let build: Build;
	beforeAll(() => {
		build = compileNative(true);
	}, 300_000);
	afterAll(() => {
		const reports = build?.reports() ?? [];
		build?.remove();
		expect(reports).toEqual([]);
	});
	describeNative("the native program", () => build.binary);
});

describeIfAllowed(permission, "the parsers", () => {
	describe("the parsers with mutated inputs", () => {
		test("pass", { timeout: 300_000 }, () => {
			const env = {
				...process.env,
				REEVE_FUZZ_INPUTS: "300000",
				REEVE_FUZZ_SEED: String(Date.now() % 100_000),
			};
			const result = spawnSync(process.execPath, ["scripts/fuzz-native.mjs"], {
				env,
				encoding: "utf8",
			});
			expect([result.status, result.stderr]).toEqual([0, ""]);
			expect(result.stdout).toContain("300000 inputs");
		});
	});
});
