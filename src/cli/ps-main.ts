/**
 * `reeve ps` without the command line around it. People and scripts run it more often than everything else, and
 * loading the other commands would take longer than asking the daemon. It is a bundle of its own: one file.
 */

import { runPs } from "./commands/ps.js";
import { createOutput } from "./output.js";
import { printError } from "./print-error.js";

/** The scopes are known to be no options. */
export async function runPsAlone(scopes: readonly string[], json: boolean): Promise<number> {
	const output = createOutput(process.stdout, process.stderr, process.env);
	// Without this, Node would print the message of such an error as it is.
	process.on("uncaughtException", (error) => process.exit(printError(error, output, json)));
	try {
		return await runPs(scopes, { json }, output, process.env);
	} catch (error) {
		return printError(error, output, json);
	}
}
