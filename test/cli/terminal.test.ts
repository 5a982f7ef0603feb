/** The CLI in a real terminal: a tmux window of a given size, on a socket of its own. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { describeWithTmux } from "../support/needs.js";
import { REEVE, temporaryFolder } from "../support/reeve.js";

/** Runs `reeve` in a window this wide and gives its screen, colours included. */
async function runInTerminal(args: readonly string[], columns: number): Promise<string[]> {
	const socket = join(temporaryFolder(), "tmux");
	const tmux = (...words: string[]) =>
		spawnSync("tmux", ["-S", socket, "-f", "/dev/null", ...words], {
			encoding: "utf8",
			env: { PATH: process.env["PATH"], TERM: "xterm-256color", LANG: "C.UTF-8" },
		}).stdout;
	onTestFinished(() => void tmux("kill-server"));
	const quoted = [process.execPath, REEVE, ...args].map((word) => `'${word}'`).join(" ");
	const size = ["-x", String(columns), "-y", "100"];
	tmux("new-session", "-d", ...size, `${quoted}; echo THE-END; exec sleep 60`);
	for (let tries = 0; tries < 300; tries++) {
		const screen = tmux("capture-pane", "-p", "-e");
		if (screen.includes("THE-END")) return screen.slice(0, screen.indexOf("THE-END")).split("\n");
		await sleep(50);
	}
	throw new Error(`no end in sight: ${tmux("capture-pane", "-p")}`);
}

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");
const bare = (lines: readonly string[]) => lines.map((line) => line.replace(ESCAPES, ""));

describeWithTmux("in a terminal", () => {
	test("a table fits a wide window on one line per exit, in colours", async () => {
		const lines = await runInTerminal(["explain", "--simulate", "1x7"], 200);
		expect(lines.join("\n")).toMatch(ESCAPES);
		expect(bare(lines).filter((line) => line !== "")).toHaveLength(8);
	});

	test.each([40, 80, 120])(
		"a table fits a window of %i columns without losing a word",
		async (columns) => {
			const lines = bare(await runInTerminal(["explain", "--simulate", "1x7"], columns));
			const words = lines.join(" ").replace(/\s+/g, " ");
			expect(words).toContain(
				"flapping 5 of 5 without a stable run (7 within 60s of running time)",
			);
			// The terminal itself would break a longer line in the middle of a word.
			expect(words).not.toContain("runnin g");
			expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
		},
	);
});
