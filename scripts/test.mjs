/**
 * Runs `npm test`: the system's programs, the checks, the build, then every test with coverage. Stops
 * at the first step that fails and exits with its code. The last line is always the count.
 *
 * Arguments go to vitest (`npm test -- src/core`). They usually select some of the tests, which cannot
 * reach the coverage of the whole, so coverage is measured only without them.
 */

import { join } from "node:path";
import { runShown } from "./lib/run.mjs";

const toVitest = process.argv.slice(2);

/** @type {[name: string, program: string, ...args: string[]][]} */
const PREPARATION = [
	["system packages", process.execPath, "scripts/system-packages.mjs"],
	["check", process.execPath, "scripts/check.mjs"],
	["build", "npm", "run", "--silent", "build"],
];

async function main() {
	for (const [name, program, ...args] of PREPARATION) {
		const code = await runShown(program, args);
		if (code === 0) continue;
		console.log(`\n${name} failed, so no test ran.\n0 passed, 1 failed`);
		return code;
	}
	const coverage = toVitest.length === 0 ? ["--coverage"] : [];
	return runShown(join("node_modules", ".bin", "vitest"), ["run", ...coverage, ...toVitest]);
}

process.exitCode = await main();
