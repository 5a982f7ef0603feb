/** Runs a program with the notification as JSON on stdin, without a shell. */

import { spawn } from "node:child_process";
import type { Channel } from "../ports/notifier.js";

const RUN_MS_MAX = 30_000;

export function createCommand(argv: readonly string[]): Channel {
	const [program = "", ...args] = argv;
	return {
		send: (notice) =>
			new Promise((resolve) => {
				const child = spawn(program, args, {
					stdio: ["pipe", "ignore", "ignore"],
					timeout: RUN_MS_MAX,
					killSignal: "SIGKILL",
				});
				child.stdin.on("error", () => {});
				child.on("error", (error: NodeJS.ErrnoException) =>
					resolve({ ok: false, reason: `cannot run the command: ${error.code}`, retryable: false }),
				);
				child.on("exit", (code, signal) => {
					if (code === 0) resolve({ ok: true });
					else
						resolve({
							ok: false,
							reason: `the command exited with ${signal ?? code}`,
							retryable: true,
						});
				});
				child.stdin.end(JSON.stringify(notice));
			}),
	};
}
