/** The properties that errors have, and the combinations that many of them share. */

import { CLI_EXIT, type CliExit } from "./cli-exit.js";

/** The properties of an error code. */
export interface ErrorSpec {
	/** When it is raised, as a sentence. */
	readonly meaning: string;
	/** How to fix it. */
	readonly hint: string;
	readonly httpStatus: number;
	readonly cliExit: CliExit;
	/** Whether the same request may succeed later without any change by the user. */
	readonly retryable: boolean;
}

/** The current state does not permit the request, and repeating it does not help. */
export const CONFLICT = { httpStatus: 409, cliExit: CLI_EXIT.refused, retryable: false } as const;
/** The request itself is wrong. */
export const BAD_REQUEST = { httpStatus: 400, cliExit: CLI_EXIT.failed, retryable: false } as const;
export const FORBIDDEN = { httpStatus: 403, cliExit: CLI_EXIT.refused, retryable: false } as const;
export const FAILED = { httpStatus: 500, cliExit: CLI_EXIT.failed, retryable: true } as const;
export const UNAVAILABLE = { httpStatus: 503, cliExit: CLI_EXIT.failed, retryable: true } as const;
export const TOO_MANY = { httpStatus: 429, cliExit: CLI_EXIT.refused, retryable: true } as const;
export const BAD_FILE = { httpStatus: 422, cliExit: CLI_EXIT.usage, retryable: false } as const;
/** Not accepted now; the same request may be accepted later. */
export const NOT_NOW = { httpStatus: 503, cliExit: CLI_EXIT.refused, retryable: true } as const;
export const TIMED_OUT = { httpStatus: 504, cliExit: CLI_EXIT.failed, retryable: true } as const;
export const NOT_FOUND = {
	httpStatus: 404,
	cliExit: CLI_EXIT.not_found,
	retryable: false,
} as const;
