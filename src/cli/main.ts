#!/usr/bin/env node
/** The `reeve` command. It loads almost nothing itself: each command loads its own code when it runs. */

const args = process.argv.slice(2);
const [command, ...rest] = args;
const isPlainPs = command === "ps" && rest.every((arg) => arg === "--json" || !/^-|^$/.test(arg));
if (args.length === 1 && (command === "--version" || command === "-V")) {
	const { readVersion } = await import("../home/version.js");
	// Text of the package itself needs no sanitizing.
	process.stdout.write(`${readVersion()}\n`);
} else if (isPlainPs) {
	// By its URL: as a part of this bundle it would be split into chunks shared with other commands.
	const alone: typeof import("./ps-main.js") = await import(
		new URL("./ps-main.js", import.meta.url).href
	);
	const scopes = rest.filter((arg) => arg !== "--json");
	process.exitCode = await alone.runPsAlone(scopes, rest.includes("--json"));
} else {
	const { findOpenFilesProblem, printProblem } = await import("./open-files-limit.js");
	const problem = findOpenFilesProblem();
	process.exitCode =
		problem === null ? await run(args) : await printProblem(problem, args.includes("--json"));
}

async function run(all: readonly string[]): Promise<number> {
	const { runProgram } = await import("./program.js");
	return runProgram(all);
}
