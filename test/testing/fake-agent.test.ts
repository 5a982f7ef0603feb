/** The fake agent as a real process, with and without a terminal. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { FakeAgentScript } from "../../src/testing/fake-agent/script.js";
import { spawnInPty, type TestPty } from "../support/pty.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";

const PROGRAM = resolve("dist/testing/fake-agent/fake-agent-main.js");
const WAIT = { timeout: 30_000, interval: 20 };

interface Ledger {
	readonly hook_event_name: string;
	readonly tool_pid?: number;
	readonly prompt?: string;
}

interface Opened {
	readonly terminal: TestPty;
	/** The screen: it is redrawn completely each time. */
	screen(): string;
	shows(what: string): Promise<void>;
	submit(text: string): Promise<void>;
	events(): string[];
	ledger(): Ledger[];
	readonly exited: TestPty["exited"];
}

function open(script: FakeAgentScript, home = temporaryFolder(), args: string[] = []): Opened {
	if (!existsSync(PROGRAM)) throw new Error("dist is missing: run `npm run build` first");
	const path = join(home, "ledger.jsonl");
	const given = JSON.stringify({ ledger: path, ...script });
	const env = { PATH: process.env["PATH"] ?? "", HOME: home };
	let output = "";
	const terminal = spawnInPty([process.execPath, PROGRAM, "--script", given, ...args], {
		...{ cwd: home, env },
		onData: (text) => {
			output += text;
		},
	});
	const { exited } = terminal;
	const screen = () => output.slice(output.lastIndexOf("\u001b[H\u001b[2J") + 7);
	const ledger = () =>
		existsSync(path)
			? readFileSync(path, "utf8")
					.split("\n")
					.filter((line) => line !== "")
					.map((line) => JSON.parse(line) as Ledger)
			: [];
	const shows = (what: string) => expect.poll(screen, WAIT).toContain(what);
	return {
		...{ terminal, screen, shows, ledger, exited },
		events: () => ledger().map(({ hook_event_name }) => hook_event_name),
		async submit(text) {
			terminal.write(`\u001b[200~${text}\u001b[201~`);
			await shows(text);
			terminal.write("\r");
		},
	};
}

const headless = (script: FakeAgentScript, args: string[], home = temporaryFolder()) =>
	runReeve(["--script", JSON.stringify(script), ...args], {
		...{ program: PROGRAM, cwd: home, env: { HOME: home } },
	});

const isAlive = (pid: number) => {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
};

describe("a fake agent in a terminal", () => {
	test("works on a pasted prompt, answers it, and reports to its hooks", async () => {
		const home = temporaryFolder();
		const hook = `cat >> ${home}/hooked; echo >> ${home}/hooked`;
		const settings = { hooks: { Stop: [{ hooks: [{ type: "command", command: hook }] }] } };
		const script = { turns: [{ when: "slow", takes: "300ms", reply: "done: {prompt}" }] };
		const args = ["--session-id", "abc", "--settings", JSON.stringify(settings)];
		const agent = open(script, home, args);
		await agent.shows("❯");
		await agent.submit("a slow one");
		await agent.shows("done: a slow one");
		expect(agent.events()).toEqual([
			"Launched",
			"SessionStart",
			"Pasted",
			"UserPromptSubmit",
			"Stop",
		]);
		expect(JSON.parse(readFileSync(join(home, "hooked"), "utf8"))).toMatchObject({
			...{ hook_event_name: "Stop", session_id: "abc", last_assistant_message: "done: a slow one" },
		});
		const projects = join(home, ".claude", "projects");
		const [project = ""] = readdirSync(projects);
		const transcript = readFileSync(join(projects, project, "abc.jsonl"), "utf8");
		expect(transcript.split("\n").filter(Boolean)).toHaveLength(2);
	});

	test("treats an Enter that comes with the text as part of the text", async () => {
		const agent = open({});
		await agent.shows("❯");
		agent.terminal.write("hello\r");
		await agent.shows("hello");
		expect(agent.events()).not.toContain("UserPromptSubmit");
		agent.terminal.write("\r");
		await agent.shows("The fake received: hello");
	});

	test("asks its questions at startup, in order, and exits when the answer is no", async () => {
		const dialogs = [
			{ title: "Trust this folder?", choices: ["No, exit", "Yes"], accepts: ["Yes"] },
			{
				title: "Bypass it all?",
				choices: ["No, exit", "Yes, I accept"],
				accepts: ["Yes, I accept"],
			},
		];
		const home = temporaryFolder();
		const remembered = dialogs.map((dialog, n) => ({ ...dialog, remembered: n === 0 }));
		const agent = open({ dialogs: remembered }, home);
		await agent.shows("Trust this folder?");
		agent.terminal.write("\u001b[B");
		await agent.shows("❯ 2. Yes");
		agent.terminal.write("\r");
		await agent.shows("Bypass it all?");
		agent.terminal.write("\r");
		expect((await agent.exited).exitCode).toBe(1);
		// The first was accepted and remembered; the second comes again.
		const again = open({ dialogs: remembered }, home);
		await again.shows("Bypass it all?");
		again.terminal.write("2");
		await expect.poll(again.events, WAIT).toContain("SessionStart");
	});

	test("submits the selected choice when a prompt is pasted into a question", async () => {
		const asks = { title: "Run rm -rf?", choices: ["Yes", "No"], accepts: ["Yes"] };
		const agent = open({ turns: [{ asks, reply: "it is gone" }] });
		await agent.shows("❯");
		await agent.submit("clean up");
		await agent.shows("Run rm -rf?");
		agent.terminal.write("\u001b[200~wait, no\u001b[201~");
		agent.terminal.write("\r");
		await agent.shows("it is gone");
	});

	test("is interrupted by the keys in its script", async () => {
		const agent = open({ interrupt: "esc_twice", turns: [{ hangs: "animated" }] });
		await agent.shows("❯");
		await agent.submit("think");
		await agent.shows("esc to interrupt");
		agent.terminal.write("\u001b");
		agent.terminal.write("\u001b");
		await agent.shows("Interrupted");
		// Real agents do not report an interrupted turn.
		expect(agent.events()).not.toContain("Stop");
		agent.terminal.write("\u0003");
		await agent.shows("Press Ctrl-C again to exit");
		agent.terminal.write("\u0003");
		expect((await agent.exited).exitCode).toBe(0);
		expect(agent.events()).toContain("SessionEnd");
	});

	test.each([
		["an exit code", { on_sigterm: 0 }, { exitCode: 0, signal: null }],
		["the signal itself", { on_sigterm: "dies" as const }, { exitCode: null, signal: "SIGTERM" }],
	])("ends at SIGTERM with %s", async (_, script, expected) => {
		const agent = open(script);
		await agent.shows("❯");
		process.kill(agent.terminal.pid, "SIGTERM");
		expect(await agent.exited).toEqual(expected);
	});

	test.each([
		["ends its tool with itself", false],
		["leaves its tool behind", true],
	])("%s", async (_, left_behind) => {
		const agent = open({ turns: [{ tool: { left_behind } }] });
		await agent.shows("❯");
		await agent.submit("run it");
		await expect.poll(agent.events, WAIT).toContain("PreToolUse");
		const pid = agent.ledger().at(-1)?.tool_pid ?? 0;
		process.kill(agent.terminal.pid, "SIGTERM");
		expect((await agent.exited).exitCode).toBe(143);
		if (left_behind) {
			expect(isAlive(pid)).toBe(true);
			process.kill(pid, "SIGKILL");
		} else await expect.poll(() => isAlive(pid), WAIT).toBe(false);
	});

	test.each([
		["fails", { fails: { status: 529, message: "Overloaded" } }, "API Error: 529 Overloaded"],
		["hits a usage limit", { limit: {} }, "You've hit your session limit · resets"],
	])("stays when a turn %s, and reports it", async (_, turn, words) => {
		const agent = open({ turns: [turn] });
		await agent.shows("❯");
		await agent.submit("go");
		await agent.shows(words);
		expect(agent.events().at(-1)).toBe("StopFailure");
	});

	test("crashes if its script requires it", async () => {
		const agent = open({ turns: [{ dies_by: "SIGKILL" }] });
		await agent.shows("❯");
		await agent.submit("go");
		expect((await agent.exited).signal).toBe("SIGKILL");
		expect(agent.events()).not.toContain("SessionEnd");
	});
});

describe("a fake agent without a terminal", () => {
	test("knows its conversations", async () => {
		const home = temporaryFolder();
		const ask = (...args: string[]) => headless({}, ["-p", "hi", ...args], home);
		expect(await ask("--continue")).toMatchObject({
			...{ code: 1, stderr: "No conversation found to continue\n" },
		});
		expect(await ask("--session-id", "abc")).toMatchObject({ code: 0 });
		expect((await ask("--session-id", "abc")).stderr).toContain("abc is already in use");
		expect(await ask("--resume", "abc")).toMatchObject({ code: 0 });
		expect((await ask("--resume", "xyz")).stderr).toContain(
			"No conversation found with session ID",
		);
	});

	test("accepts the conversation arguments of codex and pi", async () => {
		const home = temporaryFolder();
		const ask = (...args: string[]) => headless({}, [...args, "-p", "hi"], home);
		expect((await ask("-c", "a=1", "resume", "xyz")).stderr).toContain("No conversation found");
		const file = join(home, "pi.jsonl");
		expect(await ask("--session", file, "--extension", "x.ts")).toMatchObject({ code: 0 });
		expect(await ask("--session", file)).toMatchObject({ code: 0 });
		expect(readFileSync(file, "utf8").match(/"user"/g)).toHaveLength(4);
	});

	test("counts how often a turn was played for all that name the same file", async () => {
		const home = temporaryFolder();
		const turn = { fails: { status: 500 }, times: 2, counted_in: join(home, "count") };
		const codes: (number | null)[] = [];
		for (let n = 0; n < 3; n++) codes.push((await headless({ turns: [turn] }, ["-p", "hi"])).code);
		expect(codes).toEqual([1, 1, 0]);
	});

	test("reports a limit in a stream, with its end, as a success that is an error", async () => {
		const { code, stdout } = await headless({ turns: [{ limit: { resets_in: "2h" } }] }, [
			...["-p", "hi", "--output-format", "stream-json"],
		]);
		const events = stdout
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(code).toBe(1);
		expect(events.map(({ type }) => type)).toEqual([
			...["system", "rate_limit_event", "assistant", "result"],
		]);
		const soonMs = events[1].rate_limit_info.resetsAt * 1000 - Date.now();
		expect(soonMs).toBeGreaterThan(3_600_000);
		expect(events[3]).toMatchObject({ subtype: "success", is_error: true, api_error_status: 429 });
	});

	test("reports the mistake in its script", async () => {
		const { code, stderr } = await headless({ dialog: [] } as FakeAgentScript, ["-p", "hi"]);
		expect([code, stderr]).toEqual([2, expect.stringContaining('Unrecognized key: "dialog"')]);
	});
});

test("reads its script from a YAML file, also in the package", async () => {
	const home = temporaryFolder();
	const file = join(home, "script.yaml");
	writeFileSync(file, "# a comment, which JSON has not\nturns: []\n");
	const args = ["--script", file, "-p", "hello"];
	const ran = await runReeve(args, { program: PROGRAM, cwd: home, env: { HOME: home } });
	expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("hello") });
});
