/**
 * The registry of user-facing errors: code, meaning, hint, HTTP status and CLI exit code. Each
 * subject has a file of its own, `errors-….ts`. The reference page is generated from it.
 */

import { AGENT_ERRORS } from "./errors-agents.js";
import { API_ERRORS } from "./errors-api.js";
import { DAEMON_ERRORS } from "./errors-daemon.js";
import { INPUT_ERRORS } from "./errors-input.js";
import { TASK_ERRORS } from "./errors-tasks.js";

/**
 * Every error of Reeve: its meaning, a hint, the HTTP status, the exit code of the CLI, and whether a retry can help.
 */
export const ERRORS = {
	...INPUT_ERRORS,
	...API_ERRORS,
	...DAEMON_ERRORS,
	...AGENT_ERRORS,
	...TASK_ERRORS,
} as const;

/** The code of an error; stable. */
export type ErrorCode = keyof typeof ERRORS;

/** A user-facing error. The code identifies the kind of error; the message describes this case. */
export class ReeveError extends Error {
	override readonly name = "ReeveError";
	readonly code: ErrorCode;
	readonly hint: string;
	/** Additional data for programs; its shape depends on the code. */
	readonly details: unknown;

	constructor(
		code: ErrorCode,
		message: string,
		hint: string = ERRORS[code].hint,
		details: unknown = null,
	) {
		super(message);
		this.code = code;
		this.hint = hint;
		this.details = details;
	}
}
