/** Runs a program of this package as a child of the daemon: what it needs is not loaded into the daemon. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const OUTPUT_BYTES_MAX = 4 * 2 ** 20;

export interface OwnRun {
	readonly args?: readonly string[];
	readonly input?: string;
	readonly env?: NodeJS.ProcessEnv;
	readonly timeoutMs: number;
	/** Exit codes of a complete answer. */
	readonly codes?: readonly number[];
}

/** The JSON that it prints. `place` is its file in `dist`, relative to `daemon/`. */
export async function runOwnProgram(place: string, run: OwnRun): Promise<unknown> {
	const path = fileURLToPath(new URL(place, import.meta.url));
	const { args = [], input = "", env = process.env, timeoutMs, codes = [0] } = run;
	const stdout = await new Promise<string>((resolve, reject) => {
		const options = {
			env,
			timeout: timeoutMs,
			maxBuffer: OUTPUT_BYTES_MAX,
			cwd: "/",
			killSignal: "SIGKILL" as const,
		};
		const child = execFile(process.execPath, [path, ...args], options, (error, out, err) => {
			const code = error === null ? 0 : error.code;
			if (typeof code === "number" && codes.includes(code)) return resolve(out);
			const why = error?.killed ? `no answer within ${timeoutMs / 1_000} s` : lastLine(err);
			reject(new Error(why === "" ? (error?.message ?? "it failed") : why));
		});
		// A child that exits without reading is reported by its exit.
		child.stdin?.on("error", () => {});
		child.stdin?.end(input);
	});
	return JSON.parse(stdout);
}

function lastLine(text: string): string {
	const lines = text.trim().split("\n");
	return lines.find((line) => /Error/.test(line)) ?? lines.at(-1) ?? "";
}
