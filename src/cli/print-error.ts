/** Prints the failure of a command and returns its exit code. */

import { ERRORS, ReeveError } from "../core/errors.js";
import { safeJson } from "../core/safe-text.js";
import type { Output } from "./output.js";

export function printError(error: unknown, output: Output, asJson: boolean): number {
	const known =
		error instanceof ReeveError
			? error
			: new ReeveError(
					"internal",
					error instanceof Error ? (error.stack ?? error.message) : String(error),
				);
	if (asJson) {
		printJsonError(known, output);
	} else {
		output.note(`${output.sayColors.red("error")}: ${known.message}`);
		output.note(`${output.sayColors.dim("hint")}: ${known.hint}`);
	}
	return ERRORS[known.code].cliExit;
}

/** On one line: it may follow other lines of JSON. */
export function printJsonError({ code, message, hint }: ReeveError, output: Output): void {
	output.result(safeJson({ error: { code, message, hint } }));
}
