/** Errors that a handler can throw to give details. */

/** The request is invalid: it is not retried and does not count as a failure of the agent. */
export class BadRequest extends Error {
	override readonly name = "BadRequest";
}

/** The action failed temporarily; the next attempt starts after this time at the earliest. */
export class RetryLater extends Error {
	override readonly name = "RetryLater";
	readonly afterMs: number;

	constructor(message: string, afterMs: number) {
		super(message);
		this.afterMs = afterMs;
	}
}
