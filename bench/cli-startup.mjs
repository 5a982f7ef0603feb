/**
 * How long `reeve --version` takes beside bare `node -e 0`, both in one run, turn by turn. Prints medians
 * and their ratios. `--assert 1.35` fails above that ratio of processor time, which on a busy machine is
 * steadier than elapsed time; where the system does not report it (macOS), of elapsed time.
 *
 *   npm run bench -- [--runs 41] [--assert 1.35]
 */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
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

/** Processor time of all children that have ended, in ticks of 10 ms; exact enough as a sum over many runs. */
function childTicks() {
	const stat = readFileSync("/proc/self/stat", "utf8");
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return Number(fields[13]) + Number(fields[14]);
}

/** @param {number[]} times */
function median(times) {
	return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

const countsTicks = existsSync("/proc/self/stat");
/** @type {{ name: string, times: number[], ticks: number }[]} */
const measured = Object.keys(COMMANDS).map((name) => ({ name, times: [], ticks: 0 }));
for (let run = 0; run < runs; run++) {
	for (const command of measured) {
		const before = countsTicks ? childTicks() : 0;
		command.times.push(timeMs(COMMANDS[command.name] ?? []));
		command.ticks += (countsTicks ? childTicks() : 0) - before;
	}
}

const [bare] = measured;
console.log(
	`node ${process.version}, ${runs} runs each: median time, its ratio, ratio of processor time`,
);
for (const { name, times, ticks } of measured) {
	const ratios = [median(times) / median(bare?.times ?? []), ticks / (bare?.ticks ?? 0)];
	const shown = ratios.map((ratio) => `${ratio.toFixed(2)}x`.padStart(7)).join("");
	console.log(`${name.padEnd(16)} ${median(times).toFixed(1).padStart(7)} ms${shown}`);
	const ratio = ratios[countsTicks ? 1 : 0] ?? Number.NaN;
	if (
		name === "reeve --version" &&
		values.assert !== undefined &&
		!(ratio <= Number(values.assert))
	) {
		console.error(`${name} takes ${ratio.toFixed(2)}x of node -e 0, more than ${values.assert}x`);
		process.exitCode = 1;
	}
}
