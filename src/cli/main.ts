#!/usr/bin/env node
/** The `reeve` command. Loads next to nothing itself: what a command needs is loaded when it runs. */

import { readVersion } from "../home/version.js";

const args = process.argv.slice(2);
if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
	// Text of the package itself: it needs no sanitiser.
	process.stdout.write(`${readVersion()}\n`);
} else {
	const { findOpenFilesProblem, sayProblem } = await import("./open-files-limit.js");
	const problem = findOpenFilesProblem();
	process.exitCode =
		problem === null ? await run(args) : await sayProblem(problem, args.includes("--json"));
}

async function run([command, ...rest]: readonly string[]): Promise<number> {
	const isPlainPs = command === "ps" && rest.every((arg) => arg === "--json" || !/^-|^$/.test(arg));
	if (isPlainPs) {
		// By its address: as a part of this bundle it would be split into what it shares with other commands.
		const alone: typeof import("./ps-main.js") = await import(
			new URL("./ps-main.js", import.meta.url).href
		);
		const scopes = rest.filter((arg) => arg !== "--json");
		return alone.runPsAlone(scopes, rest.includes("--json"));
	}
	const { runProgram } = await import("./program.js");
	return runProgram(args);
}
