/** Desktop notifications: notify-send, or osascript on macOS. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Notice } from "../core/notice.js";
import type { Channel } from "../ports/notifier.js";

const RUN_MS_MAX = 10_000;
/** More than any desktop shows, and less than the system allows for an argument. */
const TEXT_LENGTH_MAX = 4_000;
const MAC_SCRIPT = fileURLToPath(new URL("./desktop.applescript", import.meta.url));

export function createDesktop(platform: NodeJS.Platform): Channel {
	return {
		send: (notice) =>
			new Promise((resolve) => {
				const [program, args] = commandFor(platform, notice);
				const child = spawn(program, args, {
					stdio: "ignore",
					timeout: RUN_MS_MAX,
					killSignal: "SIGKILL",
				});
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

function commandFor(platform: NodeJS.Platform, notice: Notice): [program: string, args: string[]] {
	const { kind } = notice;
	const cut = (text: string) => text.slice(0, TEXT_LENGTH_MAX);
	const [title, text] = [cut(notice.title), cut(notice.text)];
	if (platform === "darwin") return ["osascript", [MAC_SCRIPT, title, text]];
	const urgency = kind === "halted" || kind === "circuit_open" ? "critical" : "normal";
	return ["notify-send", ["--app-name=Reeve", `--urgency=${urgency}`, "--", title, text]];
}
