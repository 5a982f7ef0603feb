#!/usr/bin/env node
/** The `reeve` command. Loads next to nothing itself: what a command needs is loaded when it runs. */

import { readVersion } from "../client/version.js";

const args = process.argv.slice(2);
if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
	process.stdout.write(`${readVersion()}\n`);
} else {
	const { runProgram } = await import("./program.js");
	process.exitCode = await runProgram(args);
}
