/** The daemon's own log: one JSON object a line, for people with `jq` and for `reeve doctor`. */

export interface Logger {
	info(message: string, data?: object): void;
	error(message: string, error: unknown, data?: object): void;
}

export function createLogger(write: (line: string) => void): Logger {
	const log = (level: string, msg: string, data: object) =>
		write(`${JSON.stringify({ at: new Date().toISOString(), level, msg, ...data })}\n`);
	return {
		info: (message, data = {}) => log("info", message, data),
		error(message, error, data = {}) {
			const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
			log("error", message, { ...data, error: text });
		},
	};
}
