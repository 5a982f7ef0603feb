/** Processes that use the CPU for as long as a test runs. */

import { type ChildProcess, spawn } from "node:child_process";
import { afterAll, beforeAll } from "vitest";

const BUSY_LOOPS = 4;

/** For all tests of the file that calls it. */
export function runBusyLoops(): void {
	let loops: readonly ChildProcess[] = [];
	beforeAll(() => {
		const args = ["-e", "for (;;);"];
		loops = Array.from({ length: BUSY_LOOPS }, () => spawn(process.execPath, args));
	});
	afterAll(() => {
		for (const loop of loops) loop.kill("SIGKILL");
	});
}
