/**
 * Whether this process may open enough files. Below the limit, Node fails with a stack trace before a command can load.
 */

import { readFileSync } from "node:fs";
import { CLI_EXIT } from "../core/cli-exit.js";
import { ReeveError } from "../core/errors.js";
import { createProcessOutput } from "./output.js";

/** Node opens the modules of a program concurrently. */
const OPEN_FILES_MIN = 128;

/** Also null if the system does not report it. */
export function findOpenFilesProblem(): ReeveError | null {
	const limit = readLimit();
	if (limit === null || limit >= OPEN_FILES_MIN) return null;
	return new ReeveError(
		"open_files_limit",
		`the limit on open files is ${limit}, but Reeve needs at least ${OPEN_FILES_MIN}`,
	);
}

/** Prints it like any other error, without loading more code. */
export async function printProblem(problem: ReeveError, asJson: boolean): Promise<number> {
	const output = createProcessOutput(process.env);
	const { code, message, hint } = problem;
	if (asJson) await output.jsonLine({ error: { code, message, hint } });
	else {
		output.note(`error: ${message}`);
		output.note(`hint: ${hint}`);
	}
	return CLI_EXIT.failed;
}

function readLimit(): number | null {
	try {
		const limits = readFileSync("/proc/self/limits", "utf8");
		const limit = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
		return limit === undefined ? null : Number(limit);
	} catch {
		return null;
	}
}
