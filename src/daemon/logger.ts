/**
 * The daemon's own log: one JSON object per line, for `jq` and `reeve doctor`. It quotes agents, so
 * every character that a terminal would interpret is escaped (A10).
 */

import { redactDeep } from "../core/redact.js";
import { safeJson } from "../core/safe-text.js";

export interface Logger {
	info(message: string, data?: object): void;
	error(message: string, error: unknown, data?: object): void;
}

/** `redact` removes secrets that an agent has printed (A10). */
export function createLogger(
	write: (line: string) => void,
	redact: (text: string) => string = (text) => text,
): Logger {
	const log = (level: string, msg: string, data: object) => {
		const line = redactDeep({ level, msg, ...data }, redact);
		write(`${safeJson({ at: new Date().toISOString(), ...line })}\n`);
	};
	return {
		info: (message, data = {}) => log("info", message, data),
		error(message, error, data = {}) {
			const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
			log("error", message, { ...data, error: text });
		},
	};
}
