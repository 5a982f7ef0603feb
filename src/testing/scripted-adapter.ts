/**
 * An adapter for a CLI that does not speak Reeve's protocol: it reads text from stdin, prints text, and
 * reports success by its exit code. Flags and codes are data, so it serves tests and as an example.
 */

import type { ActionRequest } from "../core/outcome.js";
import type { CallAdapter } from "../ports/executor.js";

/** The script of a scripted adapter. */
export interface AdapterScript {
	/** The flags for each action; other actions are not supported. */
	readonly actions: Readonly<Record<string, readonly string[]>>;
	/** Maps exit codes to protocol codes; any other failure is a 500. */
	readonly codes?: Readonly<Record<number, number>>;
}

/** Creates an adapter that follows a script. */
export function createScriptedAdapter({ actions, codes = {} }: AdapterScript): CallAdapter {
	return {
		name: "scripted",
		prepare(program, { action, payload }) {
			const flags = Object.hasOwn(actions, action) ? actions[action] : undefined;
			if (flags === undefined) return { code: 501, message: `no action ${action}` };
			const text = (payload as { text?: unknown } | null)?.text;
			if (typeof text !== "string") return { code: 400, message: "the payload has no `text`" };
			// On stdin: arguments are visible to every user of the machine, and could look like flags.
			return { argv: [...program.argv, ...flags], env: program.env, stdin: text };
		},
		parse({ request_id }: ActionRequest, { code, stdout, stderr }) {
			// Terminated by a signal: there is no response, whatever it printed.
			if (code === null) return null;
			if (code === 0) {
				return { request_id, status: "success", code: 0, result: { text: stdout.trimEnd() } };
			}
			const error = stderr.trimEnd().split("\n").at(-1);
			return { request_id, status: "error", code: codes[code] ?? 500, error };
		},
	};
}
