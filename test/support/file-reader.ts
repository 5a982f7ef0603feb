/** A process that reads a file over and over, and reports every version that is not whole. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

/** `check` is the body of a function of the parsed file; it throws when something is missing. */
const program = (check: string) => `
	import { readFileSync } from "node:fs";
	const check = (settings) => { ${check} };
	const found = { reads: 0, versions: 0, bad: [] };
	let isOver = false;
	let last = "";
	process.stdin.on("data", () => {}).on("end", () => { isOver = true; });
	while (!isOver) {
		for (let n = 0; n < 50; n++) {
			found.reads++;
			let text = "";
			try {
				text = readFileSync(process.argv[1], "utf8");
				check(JSON.parse(text));
			} catch (error) { found.bad.push(error.message + ": " + text.slice(0, 80)); }
			if (text !== last) found.versions++;
			last = text;
		}
		await new Promise((resolve) => setTimeout(resolve, 2));
	}
	console.log(JSON.stringify(found));
`;

export interface Readings {
	readonly reads: number;
	readonly versions: number;
	/** The problem, with the start of the file. */
	readonly bad: readonly string[];
}

/** Returns a function that stops the reader. */
export function readAllTheTime(file: string, check: string): () => Promise<Readings> {
	const args = ["--input-type=module", "-e", program(check), file];
	const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
	const output = text(child.stdout);
	return async () => {
		child.stdin.end();
		await once(child, "close");
		return JSON.parse(await output) as Readings;
	};
}
