/** The CLI in a real terminal: a tmux window of a given size, on a socket of its own. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { describeWithTmux } from "../support/needs.js";
import { temporaryFolder } from "../support/reeve.js";
import { openTerminal } from "../support/terminal.js";

/** Runs `reeve` in a window this wide and gives its screen, colours included. */
async function runInTerminal(
	args: readonly string[],
	columns: number,
	env: Record<string, string> = {},
): Promise<string[]> {
	const terminal = openTerminal(args, { columns, env });
	const screen = await terminal.waitFor("THE-END");
	return screen.slice(0, screen.indexOf("THE-END")).split("\n");
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

	test.each([60, 80, 120, 200])(
		"reeve ps shows many agents in a window of %i columns, a line each",
		async (columns) => {
			const agents = Array.from({ length: 90 }, (_, at) =>
				agentJson(`web:coder-${at}`, { reason: "started by the operator, who had reasons for it" }),
			);
			const { env } = await startFakeDaemon({ "GET /api/v1/agents": () => ({ agents }) });
			const lines = bare(await runInTerminal(["ps"], columns, env));
			expect(lines.filter((line) => line.startsWith("web:coder-"))).toHaveLength(90);
			expect(lines.filter((line) => line !== "").at(-1)).toBe("90 agents: 90 running");
			expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
		},
	);

	test("reeve up shows how far it is, and takes that away at the end", async () => {
		const cwd = temporaryFolder();
		const file = join(cwd, "reeve.yaml");
		writeFileSync(file, FLEET);
		let release: () => void = () => {};
		const held = new Promise<void>((resolve) => {
			release = resolve;
		});
		const { env } = await startFakeDaemon({
			"GET /api/v1/agents": () => ({
				agents: [agentJson("web:a"), agentJson("web:b", { process: "starting" }), agentJson("x:y")],
			}),
			"POST /api/v1/fleet/up": async () => {
				await held;
				const started = { outcome: "started", reason: "started by the operator", pid: 1 } as const;
				return { agents: ["web:a", "web:b"].map((id) => ({ id, ...started })) };
			},
		});
		const terminal = openTerminal(["up", "-f", file], { env });
		await terminal.waitFor("1/2 up");
		release();
		const screen = await terminal.waitFor("THE-END 0");
		expect(screen).toMatch(/^2 agents: 2 started\nTHE-END 0/);
	});

	test("reeve send without a text does not wait for one at the keyboard", async () => {
		const terminal = openTerminal(["send", "web:coder"], {});
		expect(await terminal.waitFor("THE-END 2")).toContain("or pipe it in");
	});
});

const FLEET = `version: 1
projects:
  web:
    agents:
      a: { command: [sleep, "1"] }
      b: { command: [sleep, "1"] }
`;
