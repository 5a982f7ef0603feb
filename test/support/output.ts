/** An `Output` that remembers what a command said, for commands that are run inside of a test. */

import pc from "picocolors";
import type { Output } from "../../src/cli/output.js";

export function recordedOutput() {
	const results: string[] = [];
	const said: string[] = [];
	const plain = pc.createColors(false);
	const output: Output = {
		result: (line) => void results.push(line),
		say: (line) => void said.push(line),
		json: (value) => void results.push(JSON.stringify(value, null, 2)),
		jsonLine: async (value) => void results.push(JSON.stringify(value)),
		write: async (part) => void results.push(String(part)),
		progress: null,
		draw: () => {},
		...{ colors: plain, sayColors: plain, columns: null, sayColumns: null },
	};
	return { output, results: () => results.join("\n"), said: () => said.join("\n") };
}
