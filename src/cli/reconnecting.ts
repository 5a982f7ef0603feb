/** Reports lost and restored connections of commands that follow a stream. */

import type { StreamOptions } from "../client/client.js";
import { ReeveError } from "../core/errors.js";
import { parseDuration, renderElapsed } from "../core/units.js";
import { invalidValue } from "./arguments.js";
import type { Output } from "./output.js";

/** For streams of the client: `duration` is how long to wait for a daemon that disappeared. */
export function reconnecting(
	duration: string,
	output: Output,
): Pick<StreamOptions, "reconnectForMs" | "onConnection"> {
	const reconnectForMs = parseDuration(duration);
	if (reconnectForMs === null) {
		const hint = "Use a whole number with a unit: 30s, 5m, 1h. 0s turns reconnecting off.";
		throw invalidValue("--reconnect", duration, hint);
	}
	return {
		reconnectForMs,
		onConnection(change) {
			if (change.state === "lost") {
				output.note(`${change.reason}; reconnecting for up to ${renderElapsed(reconnectForMs)}`);
				return;
			}
			const missed = change.gap
				? "some output in between was already discarded"
				: "nothing was missed";
			output.note(`reconnected after ${renderElapsed(change.downMs)}; ${missed}`);
		},
	};
}

/** The error of a stream whose daemon did not come back, with a hint on how to continue. */
export function withContinueHint(error: unknown, hint: string): unknown {
	if (!(error instanceof ReeveError)) return error;
	if (error.code !== "no_daemon" && error.code !== "connection_lost") return error;
	return new ReeveError(error.code, error.message, `${error.hint} ${hint}`);
}
