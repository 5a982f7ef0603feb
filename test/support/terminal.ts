/** A real terminal for `reeve`: a window of a tmux server of its own, which can be read and typed into. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { REEVE, temporaryFolder } from "./reeve.js";

const POLL_MS = 50;
const CHECKS_MAX = 300;

export interface TestTerminal {
	/** The screen, with colours. */
	screen(): string;
	/** The screen, once this is on it. */
	waitFor(what: string | RegExp): Promise<string>;
	/** Keys by tmux's names for them: `C-]`, `Enter`, or text. */
	type(...keys: readonly string[]): void;
	resize(columns: number, rows: number): void;
	/** The process of the window's shell. */
	pid(): number;
	/** A setting of the terminal, as tmux knows it: `alternate_on`, `mouse_any_flag`. */
	ask(format: string): string;
}

/** Runs `reeve` in a new window. When it ends, its exit code and `THE-END` are on the screen. */
export function openTerminal(
	args: readonly string[],
	{ columns = 100, rows = 100, env = {} as Readonly<Record<string, string>> } = {},
): TestTerminal {
	const socket = join(temporaryFolder(), "tmux");
	const tmux = (...words: readonly string[]) =>
		spawnSync("tmux", ["-S", socket, "-f", "/dev/null", ...words], {
			encoding: "utf8",
			env: { PATH: process.env["PATH"], TERM: "xterm-256color", LANG: "C.UTF-8", ...env },
		}).stdout;
	onTestFinished(() => void tmux("kill-server"));
	const quoted = [process.execPath, REEVE, ...args].map((word) => `'${word}'`).join(" ");
	const size = ["-x", String(columns), "-y", String(rows)];
	tmux("new-session", "-d", ...size, `${quoted}; echo "THE-END $?"; exec cat`);
	const screen = () => tmux("capture-pane", "-p", "-e");
	return {
		screen,
		async waitFor(what) {
			for (let looks = 0; looks < CHECKS_MAX; looks++) {
				const text = screen();
				if (typeof what === "string" ? text.includes(what) : what.test(text)) return text;
				await sleep(POLL_MS);
			}
			throw new Error(`${what} does not come up: ${screen()}`);
		},
		type: (...keys) => void tmux("send-keys", ...keys),
		resize: (width, height) =>
			void tmux("resize-window", "-x", String(width), "-y", String(height)),
		pid: () => Number(tmux("display-message", "-p", "#{pane_pid}")),
		ask: (format) => tmux("display-message", "-p", `#{${format}}`).trim(),
	};
}
