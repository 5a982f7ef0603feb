/** What a handler throws to say more than "it failed". */

/** The request is wrong, and will be tomorrow: it is not tried again and says nothing against the agent. */
export class BadRequest extends Error {
	override readonly name = "BadRequest";
}

/** It could not be done now; the next attempt comes after this time at the earliest. */
export class RetryLater extends Error {
	override readonly name = "RetryLater";
	readonly afterMs: number;

	constructor(message: string, afterMs: number) {
		super(message);
		this.afterMs = afterMs;
	}
}
