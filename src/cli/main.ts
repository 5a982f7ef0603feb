#!/usr/bin/env node
/**
 * The `reeve` command. It loads almost nothing itself: each command loads its own code when it runs.
 */

import { readVersion } from "../home/version.js";

const args = process.argv.slice(2);
if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
	// Text of the package itself needs no sanitizing.
	process.stdout.write(`${readVersion()}\n`);
} else {
	const { findOpenFilesProblem, printProblem } = await import("./open-files-limit.js");
	const problem = findOpenFilesProblem();
	process.exitCode =
		problem === null ? await run(args) : await printProblem(problem, args.includes("--json"));
}

async function run([command, ...rest]: readonly string[]): Promise<number> {
	const isPlainPs = command === "ps" && rest.every((arg) => arg === "--json" || !/^-|^$/.test(arg));
	if (isPlainPs) {
		// By its URL: as a part of this bundle it would be split into chunks shared with other commands.
		const alone: typeof import("./ps-main.js") = await import(
			new URL("./ps-main.js", import.meta.url).href
		);
		const scopes = rest.filter((arg) => arg !== "--json");
		return alone.runPsAlone(scopes, rest.includes("--json"));
	}
	const { runProgram } = await import("./program.js");
	return runProgram(args);
}
