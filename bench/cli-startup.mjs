/**
 * How long `reeve --version` takes beside bare `node -e 0`, both in one run, turn by turn, so that a
 * busy machine slows both alike. Prints medians and their ratio; `--assert 1.35` fails above it.
 *
 *   npm run bench -- [--runs 41] [--assert 1.35]
 */

import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values } = parseArgs({
	options: { runs: { type: "string", default: "41" }, assert: { type: "string" } },
});
const runs = Number(values.runs);

/** @type {Record<string, string[]>} */
const COMMANDS = {
	"node -e 0": ["-e", "0"],
	"reeve --version": ["dist/cli/main.js", "--version"],
	"reeve --help": ["dist/cli/main.js", "--help"],
	"reeve validate": ["dist/cli/main.js", "validate", "bench/fleets/small.yaml"],
};

/** @param {string[]} args */
function timeMs(args) {
	const startedMs = performance.now();
	const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
	if (status !== 0) throw new Error(`node ${args.join(" ")} failed: ${stderr}`);
	return performance.now() - startedMs;
}

/** @param {number[]} times */
function median(times) {
	return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

/** @type {Record<string, number[]>} */
const times = Object.fromEntries(Object.keys(COMMANDS).map((name) => [name, []]));
for (let run = 0; run < runs; run++) {
	for (const [name, args] of Object.entries(COMMANDS)) times[name]?.push(timeMs(args));
}

const base = median(times["node -e 0"] ?? []);
console.log(`node ${process.version}, ${runs} runs each, medians`);
for (const [name, measured] of Object.entries(times)) {
	const ms = median(measured);
	console.log(`${name.padEnd(16)} ${ms.toFixed(1).padStart(7)} ms  ${(ms / base).toFixed(2)}x`);
}
const ratio = median(times["reeve --version"] ?? []) / base;
if (values.assert !== undefined && !(ratio <= Number(values.assert))) {
	console.error(
		`reeve --version takes ${ratio.toFixed(2)}x of node -e 0, more than ${values.assert}x`,
	);
	process.exitCode = 1;
}
