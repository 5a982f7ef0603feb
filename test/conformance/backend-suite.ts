/** Runs the conformance suite of backends in vitest. */

import { describe, test } from "vitest";
import { type BackendWorld, backendConformance } from "../../src/testing/index.js";
import { TEST_MS_MAX } from "./world.js";

/** `REEVE_INPUT_STRINGS=10000` types that many strings. */
const INPUT_STRINGS = Number(process.env["REEVE_INPUT_STRINGS"] ?? 300);
/** An emulated machine takes minutes for 50. */
const RUNS_AT_ONCE = Number(process.env["REEVE_RUNS_AT_ONCE"] ?? 50);

export function runBackendSuite(
	name: string,
	createWorld: () => Promise<BackendWorld>,
	runs = RUNS_AT_ONCE,
): void {
	describe(`backend ${name}`, { timeout: TEST_MS_MAX }, () => {
		const tests = backendConformance(createWorld, { runs, strings: INPUT_STRINGS });
		for (const { name: title, run } of tests) test(title, run);
	});
}
