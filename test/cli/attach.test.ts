/** `reeve attach` in a real terminal, against a daemon with scripted responses. */

import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import type { KeyboardJson } from "../../src/http/contract/agent-parts.js";
import type { AgentDetailJson } from "../../src/http/contract/agents.js";
import type { TerminalMessage } from "../../src/http/contract/streams.js";
import { agentDetail, DOWN } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { describeWithTmux } from "../support/needs.js";
import { runReeve } from "../support/reeve.js";
import { openTerminal } from "../support/terminal.js";

const ESC = "\u001b";
/** Modes that a careless program enables: mouse, pasting, a hidden cursor, a scroll region. */
const MESS = `${ESC}[?1003h${ESC}[?1006h${ESC}[?2004h${ESC}[?25l${ESC}[5;10r${ESC}[?1h${ESC}(0`;

interface Desk {
	readonly env: Record<string, string>;
	/** The typed input as one string. */
	typed: string;
	readonly messages: TerminalMessage[];
	readonly queries: string[];
	/** The operator's answers to a waiting agent. */
	readonly answers: string[];
	socket: WebSocket | null;
	tell(message: TerminalMessage): void;
}

/** An agent's terminal that echoes what is typed. Sends its screen with the opening, at once. */
async function openDesk(
	first: readonly (TerminalMessage | string)[] = SNAPSHOT,
	facts: Partial<AgentDetailJson> | (() => Partial<AgentDetailJson>) = {},
): Promise<Desk> {
	const desk: Desk = {
		...{ env: {}, typed: "", messages: [], queries: [], answers: [], socket: null },
		tell: (message) => desk.socket?.send(JSON.stringify(message)),
	};
	const { env } = await startFakeDaemon(
		{
			"GET /api/v1/agents/:id": (id) =>
				agentDetail(id, typeof facts === "function" ? facts() : facts),
			"POST /api/v1/agents/:id/answer": (_, body) => {
				desk.answers.push(body.answer);
				return { outcome: body.answer === "stop" ? "stopped" : "started" };
			},
		},
		{
			terminal(socket, id, query) {
				desk.socket = socket;
				desk.queries.push(`${id}?${query}`);
				for (const part of first) {
					socket.send(typeof part === "string" ? Buffer.from(part) : JSON.stringify(part));
				}
				socket.on("message", (data: Buffer, isBinary) => {
					if (!isBinary) return void desk.messages.push(JSON.parse(data.toString()));
					desk.typed += data.toString();
					socket.send(data);
				});
			},
		},
	);
	Object.assign(desk.env, env);
	return desk;
}

const HOLDER: KeyboardJson = {
	...{ by: "token" as const, who: "token ab12", label: "token laptop" },
	since: "2031-04-05T06:07:08.000Z",
};

const SNAPSHOT: readonly (TerminalMessage | string)[] = [
	{ type: "writer", you: true, holder: null },
	{ type: "snapshot", columns: 100, rows: 30 },
	`${MESS}${ESC}[HHELLO-FROM-THE-AGENT `,
];

const QUERY = "web:coder?columns=100&rows=30";
const attach = (desk: Desk, ...args: string[]) =>
	openTerminal(["attach", "web:coder", ...args], { columns: 100, rows: 30, env: desk.env });

async function until(condition: () => boolean): Promise<void> {
	for (let looks = 0; looks < 200 && !condition(); looks++) await sleep(25);
	expect(condition()).toBe(true);
}

function childOf(parent: number): number {
	const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
	const pairs = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
	return pairs.find(([, ppid]) => ppid === parent)?.[0] ?? Number.NaN;
}

/** The terminal is as it was before: lines are echoed and edited, nothing is reported. */
async function expectRestored(terminal: ReturnType<typeof openTerminal>): Promise<void> {
	const tty = terminal.ask("pane_tty");
	const { stdout } = spawnSync("stty", ["-a", process.platform === "linux" ? "-F" : "-f", tty], {
		encoding: "utf8",
	});
	expect(stdout).toMatch(/(?<!-)\bicanon\b/);
	expect(stdout).toMatch(/(?<!-)\becho\b/);
	const modes = ["alternate_on", "mouse_any_flag", "mouse_sgr_flag", "keypad_cursor_flag"];
	expect(modes.map((mode) => `${mode}=${terminal.ask(mode)}`)).toEqual(
		modes.map((mode) => `${mode}=0`),
	);
	expect(terminal.ask("cursor_flag")).toBe("1");
	expect(terminal.ask("scroll_region_upper")).toBe("0");
	expect(terminal.ask("scroll_region_lower")).toBe("29");
}

describeWithTmux("reeve attach", () => {
	test("shows the agent's screen, types into it, and gives the terminal back", async () => {
		const desk = await openDesk();
		const terminal = attach(desk);
		await terminal.waitFor("HELLO-FROM-THE-AGENT");
		await terminal.waitFor("Ctrl-] detaches");
		expect(terminal.ask("alternate_on")).toBe("1");
		terminal.type("ab", "C-c", "C-z", "C-\\", "Escape");
		await until(() => desk.typed.endsWith(ESC));
		expect(desk.typed).toBe(`ab\u0003\u001a\u001c${ESC}`);
		expect(desk.messages, "a free keyboard needs no taking").toEqual([]);
		expect(desk.queries).toEqual([QUERY]);

		terminal.type("C-]");
		const screen = await terminal.waitFor("THE-END 0");
		expect(screen).toContain("attached to web:coder; Ctrl-] detaches");
		expect(screen).toContain("detached from web:coder; the agent keeps running");
		expect(screen).not.toContain("HELLO");
		await expectRestored(terminal);
	});

	test("notifies the daemon when the window changes its size", async () => {
		const desk = await openDesk();
		const terminal = attach(desk);
		await terminal.waitFor("HELLO");
		terminal.resize(72, 20);
		await until(() => desk.messages.some(({ type }) => type === "resize"));
		expect(desk.messages.at(-1)).toEqual({ type: "resize", columns: 72, rows: 20 });
	});

	test("with --ro input is ignored and the size is not changed", async () => {
		const desk = await openDesk();
		const terminal = attach(desk, "--ro");
		await terminal.waitFor("read only");
		terminal.type("rm", "Enter", "C-]");
		await terminal.waitFor("THE-END 0");
		expect(desk.queries[0]).toContain("ro=1");
		expect([desk.typed, desk.messages]).toEqual(["", []]);
	});

	test("other keys may detach", async () => {
		const desk = await openDesk();
		const terminal = attach(desk, "--detach-keys", "ctrl-p,ctrl-q");
		await terminal.waitFor("Ctrl-p Ctrl-q detaches");
		terminal.type("C-]", "C-p", "x", "C-p", "C-q");
		await terminal.waitFor("THE-END 0");
		expect(desk.typed).toBe("\u001d\u0010x");
	});

	test("reports when another client takes over, and the notice disappears", async () => {
		const desk = await openDesk();
		const terminal = attach(desk);
		await terminal.waitFor("HELLO");
		desk.tell({ type: "writer", you: false, holder: HOLDER });
		await terminal.waitFor("token laptop has the keyboard");
		for (let looks = 0; looks < 100 && terminal.screen().includes("token laptop"); looks++) {
			await sleep(50);
		}
		expect(terminal.screen()).toContain("HELLO-FROM-THE-AGENT");
		expect(terminal.screen()).not.toContain("token laptop");
	});

	describe("while another client has the keyboard", () => {
		async function whileHeld(...args: string[]) {
			const desk = await openDesk(SNAPSHOT, { keyboard: HOLDER });
			return { desk, terminal: attach(desk, ...args) };
		}

		test("names it and asks; yes takes over", async () => {
			const { desk, terminal } = await whileHeld();
			const screen = await terminal.waitFor("Take it over?");
			expect(screen).toMatch(/web:coder: token laptop has had the keyboard since 04-05 \d\d:07/);
			expect(desk.queries, "nothing happens before the answer").toEqual([]);
			terminal.type("y", "Enter");
			await terminal.waitFor("HELLO");
			await until(() => desk.messages.length > 0);
			expect(desk.messages).toEqual([{ type: "take_over" }]);
			terminal.type("C-]");
			await terminal.waitFor("THE-END 0");
		});

		test.each([["Enter"], ["n"], ["C-c"]])("%s only watches", async (key) => {
			const { desk, terminal } = await whileHeld();
			await terminal.waitFor("Take it over?");
			terminal.type(key);
			if (key === "n") terminal.type("Enter");
			await terminal.waitFor("read only");
			terminal.type("rm", "C-]");
			await terminal.waitFor("THE-END 0");
			expect([desk.typed, desk.messages]).toEqual(["", []]);
			expect(desk.queries[0]).toContain("ro=1");
		});

		test("--take-over does not ask", async () => {
			const { desk, terminal } = await whileHeld("--take-over");
			await terminal.waitFor("HELLO");
			await until(() => desk.messages.length > 0);
			expect(desk.messages).toEqual([{ type: "take_over" }]);
		});
	});

	test("an agent that ends closes it with the reason", async () => {
		const desk = await openDesk();
		const terminal = attach(desk);
		await terminal.waitFor("HELLO");
		desk.tell({ type: "closed", reason: "the agent has ended" });
		desk.socket?.close();
		const screen = await terminal.waitFor("THE-END 0");
		expect(screen).toContain("web:coder: the agent has ended");
		await expectRestored(terminal);
	});

	describe("an agent that exits cleanly", () => {
		const waiting: Partial<AgentDetailJson> = {
			...{ ...DOWN, desired: "up", waiting: true },
			reason: "exit code 0 after 5s: waiting for the operator",
		};
		async function exitCleanly(...args: string[]) {
			const desk = await openDesk(SNAPSHOT, waiting);
			const terminal = attach(desk, ...args);
			await terminal.waitFor("HELLO");
			desk.tell({ type: "closed", reason: "the agent has ended" });
			desk.socket?.close();
			return { desk, terminal };
		}

		test("reports the exit and asks for a decision; continue attaches again", async () => {
			const { desk, terminal } = await exitCleanly();
			const screen = await terminal.waitFor("[fresh/continue/stop");
			expect(screen).toContain("web:coder: exit code 0 after 5s: waiting for the operator");
			terminal.type("perhaps", "Enter");
			await sleep(200);
			terminal.type("continue", "Enter");
			await terminal.waitFor("HELLO");
			expect([desk.answers, desk.queries]).toEqual([["continue"], [QUERY, QUERY]]);
			terminal.type("C-]");
			await terminal.waitFor("THE-END 0");
			await expectRestored(terminal);
		});

		test("also asks if the terminal closes before the daemon notices the exit", async () => {
			let now: Partial<AgentDetailJson> = { process: "running", pid: 77, run_id: "run-1" };
			const desk = await openDesk(SNAPSHOT, () => now);
			const terminal = attach(desk);
			await terminal.waitFor("HELLO");
			desk.tell({ type: "closed", reason: "the agent has ended" });
			desk.socket?.close();
			await sleep(700);
			now = waiting;
			const screen = await terminal.waitFor("[fresh/continue/stop");
			expect(screen).not.toContain("running");
			terminal.type("Enter");
			await terminal.waitFor("THE-END 0");
		});

		test("can be stopped there", async () => {
			const { desk, terminal } = await exitCleanly();
			await terminal.waitFor("[fresh/continue/stop");
			terminal.type("stop", "Enter");
			expect(await terminal.waitFor("THE-END 0")).toContain("web:coder: stopped");
			expect(desk.answers).toEqual(["stop"]);
		});

		test.each([["Enter"], ["C-c"], ["C-d"]])(
			"is left waiting by %s, with the command that answers",
			async (key) => {
				const { desk, terminal } = await exitCleanly();
				await terminal.waitFor("[fresh/continue/stop");
				terminal.type(key);
				const screen = await terminal.waitFor("THE-END 0");
				expect(screen).toContain("`reeve answer web:coder fresh|continue|stop`");
				expect(desk.answers).toEqual([]);
			},
		);

		test("does not ask a read-only viewer, and prints the command", async () => {
			const { terminal } = await exitCleanly("--ro");
			const screen = await terminal.waitFor("THE-END 0");
			expect(screen).not.toContain("[fresh/continue/stop");
			expect(screen).toContain("`reeve answer web:coder fresh|continue|stop`");
		});
	});

	test("the time of the restart is shown after a crash", async () => {
		const inMs = new Date(Date.now() + 25_000).toISOString();
		const facts = { ...DOWN, desired: "up", next_restart_at: inMs, reason: "exit code 1" } as const;
		const desk = await openDesk(SNAPSHOT, facts);
		const terminal = attach(desk);
		await terminal.waitFor("HELLO");
		desk.tell({ type: "closed", reason: "the agent has ended" });
		desk.socket?.close();
		const screen = await terminal.waitFor("THE-END 0");
		expect(screen).toMatch(/web:coder: restarting in 2\ds: exit code 1/);
		expect(screen).toContain("`reeve attach web:coder`");
	});

	describe("an agent that cannot be attached to", () => {
		const REFUSED = [{ type: "closed", reason: "web:coder is not running" }] as const;
		async function refused(facts: Partial<AgentDetailJson>) {
			const desk = await openDesk(REFUSED, facts);
			const terminal = attach(desk);
			await until(() => desk.socket !== null);
			desk.socket?.close();
			return { desk, terminal };
		}

		test("is reported with its state and what starts it, and never as attached (S19)", async () => {
			const { terminal } = await refused({ ...DOWN, reason: "stopped by the operator" });
			const screen = await terminal.waitFor("THE-END 1");
			expect(screen).toContain("cannot attach: web:coder is not running");
			expect(screen).toContain("web:coder: stopped: stopped by the operator");
			expect(screen).toContain("run `reeve up web:coder` to start it");
			expect(screen).not.toContain("attached to");
		});

		test("that waits for the operator can be answered there", async () => {
			const { desk, terminal } = await refused({
				...{ ...DOWN, desired: "up", waiting: true },
				reason: "exit code 0 after 5s: waiting for the operator",
			});
			const screen = await terminal.waitFor("[fresh/continue/stop");
			expect(screen).toContain("web:coder: exit code 0 after 5s: waiting for the operator");
			terminal.type("stop", "Enter");
			expect(await terminal.waitFor("THE-END 1")).toContain("web:coder: stopped");
			expect(desk.answers).toEqual(["stop"]);
		});

		test.each([
			["while it runs", {}],
			["if it never has a terminal", { ...DOWN, desired: "up", kind: "call" }],
		] as const)("is reported without its state %s", async (_, facts) => {
			const refusal = { type: "closed", reason: "web:coder has no terminal" } as const;
			const desk = await openDesk([refusal], facts);
			const terminal = attach(desk);
			await until(() => desk.socket !== null);
			desk.socket?.close();
			const screen = await terminal.waitFor("THE-END 1");
			expect(screen).toContain("cannot attach: web:coder has no terminal");
			expect(screen).not.toContain("attached to");
			expect(screen).not.toContain("hint:");
		});
	});

	test("the death of a daemon is reported", async () => {
		const desk = await openDesk();
		const terminal = attach(desk);
		await terminal.waitFor("HELLO");
		desk.socket?.terminate();
		const screen = await terminal.waitFor("THE-END 1");
		expect(screen).toContain("lost the connection to web:coder");
		await expectRestored(terminal);
	});

	test.each([
		["SIGTERM", 143],
		["SIGHUP", 129],
		["SIGINT", 130],
	] as const)("%s gives the terminal back too", async (signal, code) => {
		const desk = await openDesk();
		const terminal = attach(desk);
		await terminal.waitFor("HELLO");
		process.kill(childOf(terminal.pid()), signal);
		await terminal.waitFor(`THE-END ${code}`);
		await expectRestored(terminal);
	});

	test("a screenful in one go arrives whole, and a long paste too", async () => {
		const desk = await openDesk();
		const terminal = attach(desk);
		await terminal.waitFor("HELLO");
		const paste = "0123456789".repeat(6_000);
		desk.socket?.send(Buffer.from(`${"x".repeat(2_000_000)}\r\n${ESC}[2J${ESC}[HALL-OF-IT`));
		await terminal.waitFor("ALL-OF-IT");
		for (let at = 0; at < paste.length; at += 6_000)
			terminal.type("-l", paste.slice(at, at + 6_000));
		await until(() => desk.typed.length === paste.length);
		expect(desk.typed).toBe(paste);
		terminal.type("C-]");
		await terminal.waitFor("THE-END 0");
	});

	test("without a daemon, or without the agent, the terminal is never touched", async () => {
		const terminal = openTerminal(["attach", "web:coder"], { env: { REEVE_HOME: "/nowhere" } });
		expect(await terminal.waitFor("THE-END 3")).toContain("no daemon is listening");
	});
});

test("without a terminal it is a usage error that names an alternative", async () => {
	const ran = await runReeve(["attach", "web:coder"]);
	expect([ran.code, ran.stdout]).toEqual([2, ""]);
	expect(ran.stderr).toContain("`reeve logs -f`");
	const keys = await runReeve(["attach", "web:coder", "--detach-keys", "alt-x"]);
	expect([keys.code, keys.stderr]).toEqual([2, expect.stringContaining("ctrl-p,ctrl-q")]);
});
