/**
 * Lets V8 optimize code only after six times as much use as by default. A start of hundreds of agents runs much code for a
 * second and is over before optimized code pays for its compilation, which took a quarter of the CPU of the daemon. Longer
 * work, such as thousands of tasks, is still optimized.
 */

import { setFlagsFromString } from "node:v8";

/** The default is 67,584 bytes of executed bytecode. */
const BUDGET_BYTES = 400_000;

/** Not on the command line, where a version of Node without this flag would refuse to start. */
export function compileLater(): void {
	setFlagsFromString(`--interrupt-budget=${BUDGET_BYTES}`);
}
