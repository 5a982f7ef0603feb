/** Prints the failure of a command and returns its exit code. */

import { answeredRemotes } from "../client/answered-remotes.js";
import { ERRORS, ReeveError } from "../core/errors.js";
import { safeJson } from "../core/safe-text.js";
import type { Output } from "./output.js";

export function printError(error: unknown, output: Output, asJson: boolean): number {
	const known = error instanceof ReeveError ? error : explainBug(error, answeredRemotes());
	if (asJson) {
		printJsonError(known, output);
	} else {
		output.note(`${output.sayColors.red("error")}: ${known.message}`);
		output.note(`${output.sayColors.dim("hint")}: ${known.hint}`);
	}
	return ERRORS[known.code].cliExit;
}

/** Replies of remotes are used as they come; one of another version may lack what this one reads. */
function explainBug(error: unknown, remotes: readonly string[]): ReeveError {
	if (error instanceof TypeError && remotes.length > 0) {
		const names = remotes.join(", ");
		return new ReeveError(
			"remote_incompatible",
			`this version of Reeve cannot read the answer of ${names}; the request may have been carried out`,
			`Run the same version of Reeve on ${names} and on this host.`,
		);
	}
	const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
	return new ReeveError("internal", text);
}

/** On one line: it may follow other lines of JSON. */
export function printJsonError({ code, message, hint }: ReeveError, output: Output): void {
	output.result(safeJson({ error: { code, message, hint } }));
}
