/**
 * Every check of the source that does not run it. `node scripts/check.mjs` runs all
 * steps, `node scripts/check.mjs lint imports` only those. A step is silent when it passes; the
 * output of failed steps is shown at the end.
 *
 * Works on the checkout that is the current directory, so that tests can run it on a copy.
 */

import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { COMPILER } from "./lib/compiler.mjs";
import { runQuietly } from "./lib/run.mjs";

const CRUISED = ["src", "test", "scripts", "bench", "examples", "dashboard"].filter((folder) =>
	existsSync(folder),
);

/**
 * The slowest steps come first, which is fastest on few cores.
 *
 * @type {Record<string, [program: string, ...args: string[]]>}
 */
const STEPS = {
	types: [process.execPath, COMPILER],
	"page-types": [process.execPath, COMPILER, "-p", "dashboard"],
	"worker-types": [process.execPath, COMPILER, "-p", "dashboard/worker"],
	imports: [
		tool("depcruise"),
		...["--config", ".dependency-cruiser.mjs", "--output-type", "err-long", ...CRUISED],
	],
	"dead-code": [tool("knip"), "--no-progress", "--no-config-hints"],
	lint: [
		tool("biome"),
		"check",
		"--error-on-warnings",
		"--diagnostic-level=warn",
		"--max-diagnostics=100",
	],
	generated: [process.execPath, "scripts/generate.mjs", "--check"],
	native: [process.execPath, "scripts/build-native.mjs", "--check"],
	prose: [process.execPath, "scripts/check-prose.mjs"],
	shell: [process.execPath, "scripts/check-shell.mjs"],
	manifests: [process.execPath, "scripts/check-manifests.mjs"],
};

/** @param {string} name */
function tool(name) {
	return join("node_modules", ".bin", name);
}

/** @typedef {{ name: string, failed: boolean, output: string }} StepResult */

/**
 * @param {string} name
 * @returns {Promise<StepResult>}
 */
async function runStep(name) {
	const [program, ...args] = /** @type {[string, ...string[]]} */ (STEPS[name]);
	const startedMs = performance.now();
	const { code, output } = await runQuietly(program, args);
	const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
	console.log(`${code === 0 ? "ok  " : "FAIL"} ${name.padEnd(12)} ${seconds} s`);
	return { name, failed: code !== 0, output };
}

/**
 * As many at a time as there are cores.
 *
 * @param {string[]} names
 */
async function runSteps(names) {
	const waiting = [...names];
	/** @type {StepResult[]} */
	const results = [];
	const worker = async () => {
		for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
			results.push(await runStep(name));
		}
	};
	await Promise.all(Array.from({ length: availableParallelism() }, worker));
	return results;
}

async function main() {
	const asked = process.argv.slice(2);
	const unknown = asked.filter((name) => !Object.hasOwn(STEPS, name));
	if (unknown.length > 0) {
		console.error(`No such step: ${unknown.join(", ")}. Steps: ${Object.keys(STEPS).join(", ")}.`);
		return 2;
	}
	const results = await runSteps(asked.length > 0 ? asked : Object.keys(STEPS));
	const failed = results.filter((result) => result.failed);
	for (const { name, output } of failed) console.log(`\n--- ${name} ---\n${output.trimEnd()}`);
	return failed.length > 0 ? 1 : 0;
}

process.exitCode = await main();
