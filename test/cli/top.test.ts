/** `reeve top` in a real terminal, over a real daemon. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { describeWithTmux } from "../support/needs.js";
import { openTerminal, type TestTerminal } from "../support/terminal.js";

const FLEET = `talker: { command: [sh, -c, "while read line; do echo \\"got $line\\"; done"] }
steady: { command: [sleep, "1000"] }
flapper: { command: [sh, -c, "printf 'evil \\\\033]2;owned\\\\007\\\\033[2J <b>x</b>'; exit 1"], crash_policy: { halt_threshold: 2, flapping_delay: 100ms, transient_delay: 100ms } }
asker: { command: [sh, -c, "sleep 0.3; exit 0"] }
tool: { kind: call, command: [cat] }`;

vi.setConfig({ testTimeout: 180_000 });

let home: FleetHome;

beforeAll(async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.reeve("up");
	const isSettled = async () => {
		const agents = await home.ps();
		const flapper = agents.find(({ agent }) => agent === "flapper");
		return flapper?.policy === "halted" && agents.some(({ waiting }) => waiting);
	};
	await eventually(isSettled, "one is halted, one waits");
}, 120_000);

afterAll(() => home.close(), 120_000);

test("prints the agents once as JSON, those that need you first", async () => {
	const listed: { readonly id: string; readonly status: { readonly needs_you: boolean } }[] =
		JSON.parse(await home.must("top", "--json"));
	expect(listed.map(({ id }) => id).sort()).toEqual(
		["asker", "flapper", "steady", "talker", "tool"].map((name) => `p:${name}`),
	);
	const needs = listed.map(({ status }) => status.needs_you);
	expect(needs).toEqual(needs.toSorted((a, b) => Number(b) - Number(a)));
	expect(needs[0]).toBe(true);
});

interface Top extends TestTerminal {
	plain(): string;
	/** The screen without colours, once it matches. */
	until(pattern: RegExp): Promise<string>;
	/** Whether it uses the alternate screen, and whether the cursor is visible. */
	modes(): string;
}

function openTop(
	env: Readonly<Record<string, string>> = {},
	{ columns = 80, rows = 24 }: { readonly columns?: number; readonly rows?: number } = {},
): Top {
	const words = { REEVE_HOME: join(home.folder, "home"), ...env };
	const terminal = openTerminal(["top"], { columns, rows, env: words });
	const plain = () => terminal.screen().replace(SGR, "");
	return {
		...terminal,
		plain,
		modes: () => `${terminal.ask("alternate_on")} ${terminal.ask("cursor_flag")}`,
		async until(pattern) {
			const holds = () => pattern.test(plain());
			await eventually(holds, `the screen shows ${pattern}`).catch(() => {
				throw new Error(`waited too long for ${pattern}; the screen is:\n${plain()}`);
			});
			return plain();
		},
	};
}

const SGR = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, "g");
const rowOf = (screen: string, name: string) =>
	screen.split("\n").find((line) => line.includes(`p:${name}`)) ?? "";
const agentNamed = async (name: string) => (await home.ps()).find(({ agent }) => agent === name);

describeWithTmux("reeve top", () => {
	test("lists those that need you first, and answers in place", async () => {
		const top = openTop();
		const screen = await top.until(/2 need you/);
		const order = screen.split("\n").flatMap((line) => /^\S (p:\w+)/.exec(line)?.[1] ?? []);
		expect(order).toEqual(["p:asker", "p:flapper", "p:tool", "p:steady", "p:talker"]);
		expect(rowOf(screen, "flapper")).toMatch(/^✖ p:flapper +halted · /);
		expect(screen).toMatch(/── p:asker exited, needs a decision/);
		expect(top.ask("pane_title"), "text of agents is text").not.toContain("owned");
		top.type("3");
		await top.until(/1 needs you/);
		expect(await agentNamed("asker")).toMatchObject({ desired: "down", waiting: false });
		const after = await top.until(/□ p:asker/);
		expect(rowOf(after, "asker")).toMatch(/stopped/);
	});

	test("asks before it restarts or stops, and shows the change by events", async () => {
		const top = openTop();
		await top.until(/p:steady/);
		top.type("/steady");
		top.type("Enter");
		await top.until(/── p:steady/);
		const before = (await agentNamed("steady"))?.pid;
		top.type("R");
		await top.until(/Restart p:steady\?/);
		top.type("Escape");
		await top.until(/R restart/);
		expect((await agentNamed("steady"))?.pid, "Escape leaves it").toBe(before);
		top.type("R");
		await top.until(/Restart p:steady\?/);
		top.type("y");
		await eventually(async () => (await agentNamed("steady"))?.pid !== before, "it is restarted");
		top.type("S");
		await top.until(/Stop p:steady\?/);
		top.type("y");
		await top.until(/□ p:steady +stopped/);
		await home.must("up", "p:steady");
		await top.until(/○ p:steady +running/);
	});

	test("writes messages, attaches and returns, shows log and reason", async () => {
		const top = openTop();
		await top.until(/p:talker/);
		top.type("/talker");
		top.type("Enter");
		top.type("m");
		await top.until(/message to p:talker:/);
		// Letters are text now, not keys.
		top.type("quit R S");
		top.type("Enter");
		await top.until(/p:talker: typed/);
		top.type("l");
		await top.until(/got quit R S/);
		top.type("Escape");
		top.type("e");
		await top.until(/p:talker: why/);
		top.type("Escape");
		await top.until(/a attach/);
		top.type("a");
		await top.until(/^got quit R S/m);
		top.type("direct");
		top.type("Enter");
		await top.until(/got direct/);
		top.type("C-]");
		await top.until(/── p:talker/);
		top.type("C-l");
		await top.until(/○ live/);
	});

	test("resumes a halted agent", async () => {
		const top = openTop();
		await top.until(/p:flapper +halted/);
		top.type("/flapper");
		top.type("Enter");
		const restarts = (await agentNamed("flapper"))?.restarts ?? 0;
		top.type("u");
		const isResumed = async () => ((await agentNamed("flapper"))?.restarts ?? 0) > restarts;
		await eventually(isResumed, "it runs again");
		await top.until(/p:flapper +halted/);
	});

	test("shows that it is not connected, and is live again without a restart", async () => {
		const top = openTop();
		await top.until(/○ live/);
		await home.killDaemon();
		const stale = await top.until(/not connected since \d\d:\d\d/);
		expect(stale, "the data stays").toMatch(/p:steady/);
		top.type("u");
		await top.until(/Not connected to the daemon/);
		await home.must("daemon", "start");
		await top.until(/○ live/);
	});

	test("leaves the terminal as it was, also after a signal", async () => {
		const top = openTop();
		await top.until(/○ live/);
		expect(top.modes()).toBe("1 0");
		top.type("q");
		const after = await top.until(/THE-END 0/);
		expect(after, "the screen is restored").not.toMatch(/p:steady/);
		expect(top.modes()).toBe("0 1");

		const other = openTop();
		await other.until(/○ live/);
		const children = `/proc/${other.pid()}/task/${other.pid()}/children`;
		process.kill(Number(readFileSync(children, "utf8").split(" ")[0]), "SIGTERM");
		await other.until(/THE-END 143/);
		expect(other.modes()).toBe("0 1");
	});

	test("follows the size of the terminal", async () => {
		const top = openTop({}, { columns: 120, rows: 40 });
		await top.until(/CPU/);
		top.resize(60, 12);
		// In between, the screen is empty.
		const isNarrow = () => /live *$/.test(top.plain().split("\n")[0] ?? "");
		await eventually(() => isNarrow() && !top.plain().includes("CPU"), "columns are left out");
		top.resize(20, 4);
		await top.until(/terminal too small/);
		top.resize(80, 24);
		await top.until(/○ live/);
	});

	test("needs neither colours nor UTF-8", async () => {
		const plain = openTop({ LANG: "C", NO_COLOR: "1" });
		const screen = await plain.until(/X p:flapper/);
		expect(screen.replaceAll("\n", "")).toMatch(/^[\x20-\x7e]*$/);
		const colors = plain.screen().match(SGR) ?? [];
		expect(colors.filter((code) => /[;[](3[0-7]|9[0-7])/.test(code))).toEqual([]);
		const colored = openTop();
		await colored.until(/✖ p:flapper/);
		expect(colored.screen()).toMatch(/\[[\d;]*31m✖/);
	});

	test("refuses without a terminal, and without a daemon", async () => {
		const piped = await home.reeve("top");
		expect(piped).toMatchObject({ code: 2, stdout: "" });
		expect(piped.stderr).toMatch(/reeve top needs a terminal[\s\S]*reeve ps/);
		const alone = openTop({ REEVE_HOME: join(home.folder, "none") });
		await alone.until(/no daemon[\s\S]*THE-END 3/);
	});
});
