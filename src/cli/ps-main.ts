/**
 * `reeve ps` without the other commands. It is the most frequent command, and loading the others would
 * take longer than the request to the daemon. It is a separate bundle: one file.
 */

import { runPs } from "./commands/ps.js";
import { findOpenFilesProblem, printProblem } from "./open-files-limit.js";
import { createProcessOutput } from "./output.js";
import { printError } from "./print-error.js";

/** The scopes are known not to be options. */
export async function runPsAlone(scopes: readonly string[], json: boolean): Promise<number> {
	const problem = findOpenFilesProblem();
	if (problem !== null) return printProblem(problem, json);
	const output = createProcessOutput(process.env);
	// Without this, Node would print the message of such an error unsanitized.
	process.on("uncaughtException", (error) => process.exit(printError(error, output, json)));
	try {
		return await runPs(scopes, { json }, { output, env: process.env });
	} catch (error) {
		return printError(error, output, json);
	}
}
