/** An `Output` that remembers what a command said, for commands that are run inside of a test. */

import { NO_COLORS, type Output } from "../../src/cli/output.js";

export function recordedOutput() {
	const results: string[] = [];
	const said: string[] = [];
	const output: Output = {
		result: (line) => void results.push(line),
		note: (line) => void said.push(line),
		json: (value) => void results.push(JSON.stringify(value, null, 2)),
		jsonLine: async (value) => void results.push(JSON.stringify(value)),
		write: async (part) => void results.push(String(part)),
		progress: null,
		raw: async (bytes) => void results.push(Buffer.from(bytes).toString()),
		redraw: () => {},
		...{ colors: NO_COLORS, sayColors: NO_COLORS, columns: null, sayColumns: null },
	};
	return { output, results: () => results.join("\n"), said: () => said.join("\n") };
}
