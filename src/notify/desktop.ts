/** Desktop notifications: notify-send, or osascript on macOS. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Notice } from "../core/notice.js";
import type { Channel } from "../ports/notifier.js";

const RUN_MS_MAX = 10_000;
const MAC_SCRIPT = fileURLToPath(new URL("./desktop.applescript", import.meta.url));

export function createDesktop(platform: NodeJS.Platform): Channel {
	return {
		send: (notice) =>
			new Promise((resolve) => {
				const [program, args] = commandFor(platform, notice);
				const child = spawn(program, args, { stdio: "ignore", timeout: RUN_MS_MAX });
				child.on("error", (error: NodeJS.ErrnoException) =>
					resolve({ ok: false, reason: `${program}: ${error.code}`, retryable: false }),
				);
				child.on("exit", (code) => {
					if (code === 0) resolve({ ok: true });
					else resolve({ ok: false, reason: `${program} exited with ${code}`, retryable: true });
				});
			}),
	};
}

function commandFor(
	platform: NodeJS.Platform,
	{ title, text, kind }: Notice,
): [program: string, args: string[]] {
	if (platform === "darwin") return ["osascript", [MAC_SCRIPT, title, text]];
	const urgency = kind === "halted" || kind === "circuit_open" ? "critical" : "normal";
	return ["notify-send", ["--app-name=Reeve", `--urgency=${urgency}`, "--", title, text]];
}
