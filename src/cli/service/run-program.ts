/** Runs a system program and returns its output, without a shell and with a timeout. */

import { execFile } from "node:child_process";

export interface Answer {
	/** Null if it could not be run, or did not finish. */
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
	/** Why there is no code. */
	readonly problem: "missing" | "timeout" | "failed" | null;
}

const OUTPUT_BYTES_MAX = 2 ** 20;

export function runProgram(
	program: string,
	args: readonly string[],
	{ env, timeoutMs }: { readonly env: NodeJS.ProcessEnv; readonly timeoutMs: number },
): Promise<Answer> {
	return new Promise((resolve) => {
		const options = {
			env,
			timeout: timeoutMs,
			killSignal: "SIGKILL" as const,
			maxBuffer: OUTPUT_BYTES_MAX,
		};
		execFile(program, args, options, (error, stdout, stderr) => {
			const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
			const why = error?.killed ? "timeout" : error?.code === "ENOENT" ? "missing" : "failed";
			resolve({ code, stdout, stderr, problem: code === null ? why : null });
		}).stdin?.end();
	});
}
