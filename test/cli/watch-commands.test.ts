/** Commands that show the fleet, as real processes against a daemon with scripted responses. */

import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { decideAfterExit } from "../../src/core/crash-policy.js";
import { type CrashState, DEFAULT_CRASH_POLICY, NEW_AGENT } from "../../src/core/crash-state.js";
import { ReeveError } from "../../src/core/errors.js";
import type { ReeveEvent } from "../../src/core/events.js";
import { exitReport } from "../../src/core/exit.js";
import { toSnakeKeys } from "../../src/core/key-case.js";
import { agentDetail, agentJson, DOWN, exitJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { REEVE, runReeve, temporaryFolder } from "../support/reeve.js";

const AGENTS = [
	agentJson("web:coder", { last_exit: exitJson(), restarts: 1 }),
	agentJson("web:db", DOWN),
	agentJson("api:one", { pid: 42, run_id: "run-7", backend: "pty" }),
];
const withAgents = (agents = AGENTS) =>
	startFakeDaemon({ "GET /api/v1/agents": () => ({ agents }) });

/** Runs `reeve` as a part of a shell's pipe; returns the output at its end, and stderr. */
function runPiped(command: string, env: Record<string, string>): Promise<[string, string]> {
	const child = spawn("sh", ["-c", `"${process.execPath}" "${REEVE}" ${command}`], {
		env: { PATH: process.env["PATH"], ...env },
	});
	return Promise.all([text(child.stdout), text(child.stderr)]);
}

describe("reeve ps", () => {
	test("lists agents as a table, and as JSON exactly as returned by the daemon", async () => {
		const { env } = await withAgents();
		const { code, stdout, stderr } = await runReeve(["ps"], { env });
		expect([code, stderr]).toEqual([0, ""]);
		expect(stdout).toMatch(/^AGENT +STATE +PID +UPTIME +RESTARTS +LAST EXIT +REASON$/m);
		expect(stdout).toMatch(
			/^web:coder +running +4711 +1m 33s +1 +code 1 +started by the operator$/m,
		);
		expect(stdout).toMatch(/^web:db +stopped +- +- +0 +- +stopped by the operator$/m);
		expect(JSON.parse((await runReeve(["ps", "--json"], { env })).stdout)).toEqual(AGENTS);
	});

	test("shows a project, an agent, or that there is none of that name", async () => {
		const { env } = await withAgents();
		const ids = async (...args: string[]) =>
			JSON.parse((await runReeve(["ps", ...args, "--json"], { env })).stdout).map(
				({ id }: { id: string }) => id,
			);
		expect(await ids("web")).toEqual(["web:coder", "web:db"]);
		expect(await ids("api:one", "web:db")).toEqual(["web:db", "api:one"]);
		const none = await runReeve(["ps", "wep"], { env });
		expect([none.code, none.stdout]).toEqual([4, ""]);
		expect(none.stderr).toContain("Did you mean web?");
	});

	test("an empty fleet prints a hint, and is an empty list as JSON", async () => {
		const { env } = await withAgents([]);
		const ran = await runReeve(["ps"], { env });
		expect([ran.code, ran.stdout]).toEqual([0, ""]);
		expect(ran.stderr).toContain("`reeve up`");
		expect((await runReeve(["ps", "--json"], { env })).stdout).toBe("[]\n");
	});

	test("a pipe that closes early ends it quietly", async () => {
		const agents = Array.from({ length: 5_000 }, (_, at) => agentJson(`web:coder-${at}`));
		const { env } = await withAgents(agents);
		const [stdout, stderr] = await runPiped("ps | head -n 1", env);
		expect(stdout).toMatch(/^AGENT .*\n$/);
		expect(stderr).toBe("");
	});
});

test("reeve sessions lists the runs", async () => {
	const { env } = await withAgents();
	const { code, stdout } = await runReeve(["sessions"], { env: { ...env, TZ: "UTC" } });
	expect(code).toBe(0);
	expect(stdout).toMatch(/^AGENT +RUN +BACKEND +PID +SINCE +FOR$/m);
	expect(stdout).toMatch(/^api:one +run-7 +pty +42 +2031-04-05 06:07:08 +1m 33s$/m);
	expect(stdout).not.toContain("web:db");
	expect(JSON.parse((await runReeve(["sessions", "api", "--json"], { env })).stdout)).toEqual([
		{
			...{ agent: "api:one", run_id: "run-7", backend: "pty", pid: 42, host: "here" },
			started_at: "2031-04-05T06:07:08.000Z",
		},
	]);
});

describe("reeve logs", () => {
	const chunks = [
		"\u001b[3",
		"1mred\u001b[0m \u00fcber\r\n",
		Buffer.from([0xc3]),
		Buffer.from([0xbc]),
	];
	const withLogs = (seen: URLSearchParams[] = []) =>
		startFakeDaemon(
			{
				"GET /api/v1/agents/:id": (id) => agentDetail(id),
				"GET /api/v1/agents": () => ({ agents: AGENTS }),
			},
			{
				logs: (id, query) => {
					if (id !== "web:coder") throw new ReeveError("agent_not_found", `unknown agent ${id}`);
					seen.push(query);
					return chunks;
				},
			},
		);

	test("shows the output without control sequences, and ends the last line", async () => {
		const seen: URLSearchParams[] = [];
		const { env } = await withLogs(seen);
		const ran = await runReeve(["logs", "web:coder", "-n", "7"], { env });
		expect(ran).toEqual({ code: 0, stdout: "red über\nü\n", stderr: "" });
		expect(seen[0]?.toString()).toBe("lines=7");
	});

	test("--raw prints every byte", async () => {
		const { env } = await withLogs();
		const ran = await runReeve(["logs", "web:coder", "--raw"], { env });
		expect(ran.stdout).toBe("\u001b[31mred\u001b[0m über\r\nü");
	});

	test("--json is one document, and with -f one line each until the daemon stays away", async () => {
		const seen: URLSearchParams[] = [];
		const { env } = await withLogs(seen);
		const ran = await runReeve(["logs", "web:coder", "--json"], { env });
		expect(JSON.parse(ran.stdout)).toEqual({ id: "web:coder", lines: ["red über", "ü"] });
		const followed = await runReeve(["logs", "web:coder", "-f", "--reconnect", "0s"], { env });
		expect([followed.code, followed.stdout]).toEqual([1, "red über\nü\n"]);
		expect(followed.stderr).toContain("the daemon closed the connection");
		expect(seen[1]?.toString()).toBe("lines=200&follow=1");
	});

	test.each([
		[["logs", "web:missing"], 4, "unknown agent web:missing"],
		[["logs", "wbe"], 4, "the daemon has no project or agent wbe"],
		[["logs", "web", "--raw"], 2, "--raw shows all output of one agent only"],
		[["logs", "web", "--since", "yesterday"], 2, "invalid value for --since: `yesterday`"],
		[["logs", "web", "--since", "1h", "-n", "5"], 2, "--lines and --since cannot be combined"],
		[["logs", "web", "--until", "1h", "-f"], 2, "--until and --follow cannot be combined"],
		[["logs", "web", "-i"], 2, "--ignore-case needs --grep"],
		[["logs", "web:coder", "-n", "many"], 2, "invalid value for --lines: `many`"],
		[["logs", "web:coder", "--raw", "--json"], 2, "cannot be combined"],
	])("%j is refused", async (args, code, message) => {
		const { env } = await withLogs();
		const ran = await runReeve(args, { env });
		expect(ran.code).toBe(code);
		expect(`${ran.stdout}${ran.stderr}`).toContain(message);
	});
});

describe("reeve events", () => {
	const event = (seq: number): ReeveEvent => ({
		...{ seq, at: "2031-04-05T06:07:08.000Z", type: "agent.exited", agent: "web:coder" },
		data: {
			...{ code: 1, signal: null, cause: "unknown", kind: "failed", class: "transient" },
			uptime_ms: 3_000,
		},
	});
	const decided: ReeveEvent = {
		...{ seq: 151, at: "2031-04-05T06:07:09.000Z", type: "agent.policy_changed", agent: "web:db" },
		data: { from: "healthy", to: "halted", reason: "no \u001b[1mmore\u001b[0m tries" },
	};
	const EVENTS = [...Array.from({ length: 150 }, (_, at) => event(at + 1)), decided];
	const withEvents = (seen: string[] = []) =>
		startFakeDaemon(
			{},
			{
				events: (query) => {
					seen.push(query.toString());
					const after = Number(query.get("after"));
					return EVENTS.filter(({ seq }) => seq > after);
				},
			},
		);
	const seqs = (stdout: string) =>
		stdout
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line).seq as number);

	test("shows the last ones as text", async () => {
		const { env } = await withEvents();
		const { code, stdout, stderr } = await runReeve(["events"], { env: { ...env, TZ: "UTC" } });
		expect([code, stderr]).toEqual([0, ""]);
		const lines = stdout.trimEnd().split("\n");
		expect(lines).toHaveLength(100);
		expect(lines[0]).toBe(
			"   52  2031-04-05 06:07:08  web:coder  agent.exited  code=1  cause=unknown  kind=failed  class=transient  uptime=3s",
		);
		expect(lines.at(-1)).toBe(
			"  151  2031-04-05 06:07:09  web:db  agent.policy_changed  from=healthy  to=halted  no more tries",
		);
	});

	test("--json is one event a line, as many as requested", async () => {
		const seen: string[] = [];
		const { env } = await withEvents(seen);
		const ran = await runReeve(["events", "--json", "-n", "2"], { env });
		expect(seqs(ran.stdout)).toEqual([150, 151]);
		const after = await runReeve(["events", "--json", "--after", "10", "--agent", "web:coder"], {
			env,
		});
		expect(seqs(after.stdout)).toEqual(EVENTS.slice(10).map(({ seq }) => seq));
		expect(seen).toEqual(["after=0", "after=10&agent=web%3Acoder"]);
	});

	test("-f shows the last ones, then each new one, and explains how to continue if the daemon stays away", async () => {
		const seen: string[] = [];
		const { env } = await withEvents(seen);
		const follow = ["events", "-f", "--reconnect", "0s"];
		const ran = await runReeve([...follow, "-n", "1"], { env });
		expect(ran.code).toBe(1);
		expect(ran.stdout.trim().split("\n")).toHaveLength(1);
		expect(ran.stderr).toContain("reeve events -f --after 151");
		expect(seen).toEqual(["after=0", "after=151&follow=1"]);
		const all = await runReeve([...follow, "--after", "149", "--json"], { env });
		expect(seqs(all.stdout)).toEqual([150, 151, undefined]);
		expect(all.stdout).toContain('{"error":{"code":"connection_lost"');
	});

	test("--type selects some types, and rejects unknown ones", async () => {
		const seen: string[] = [];
		const { env } = await withEvents(seen);
		await runReeve(["events", "--type", "agent.exited,task."], { env });
		expect(seen).toEqual(["after=0&type=agent.exited%2Ctask."]);
		const ran = await runReeve(["events", "--type", "agent.exitd"], { env });
		expect([ran.code, ran.stderr]).toEqual([
			2,
			"error: unknown event type `agent.exitd`\nhint: Did you mean agent.exited?\n",
		]);
	});

	test("no events is not an error", async () => {
		const { env } = await withEvents();
		const ran = await runReeve(["events", "--after", "151"], { env });
		expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, "", "no events\n"]);
	});
});

describe("reeve explain AGENT", () => {
	function crashed(times: number): CrashState {
		let state = NEW_AGENT;
		for (let time = 0; time < times; time++) {
			const context = { settings: DEFAULT_CRASH_POLICY, onCleanExit: "prompt", random: 0 } as const;
			state = decideAfterExit(state, exitReport({ code: 1, uptimeMs: 400 }), context).state;
		}
		return state;
	}
	const withCrashes = (times: number, facts = {}) =>
		startFakeDaemon({
			"GET /api/v1/agents/:id": (id) => {
				if (id !== "web:coder") throw new ReeveError("agent_not_found", `unknown agent ${id}`);
				const state = crashed(times);
				return agentDetail(id, {
					policy: state.policy,
					exits: Array.from({ length: times }, () => exitJson()),
					crash: {
						state: toSnakeKeys(state),
						settings: toSnakeKeys(DEFAULT_CRASH_POLICY),
						on_clean_exit: "prompt",
					},
					depends_on: ["web:db"],
					uptime_ms: 500,
					...facts,
				});
			},
		});

	test("shows the state, the exits, and the action after the next one", async () => {
		const { env } = await withCrashes(4);
		const { code, stdout, stderr } = await runReeve(["explain", "web:coder"], {
			env: { ...env, TZ: "UTC" },
		});
		expect([code, stderr]).toEqual([0, ""]);
		expect(stdout).toMatch(/state +running, degraded for 500ms, pid 4711/);
		expect(stdout).toMatch(/policy +degraded: flapping 2 of 5, failed 4 of 20 times within 1h/);
		expect(stdout).toMatch(/needs +web:db/);
		expect(stdout).toMatch(/^2031-04-05 06:00:00 +400ms +code 1 +transient +exit code 1 after/m);
		expect(stdout).toMatch(/^code 1 +flapping +degraded +restart in 30s +.*flapping 3 of 5/m);
		expect(stdout).toMatch(/^code 0 +clean +healthy +ask operator/m);
	});

	test("--exit asks about one exit, also as JSON", async () => {
		const { env } = await withCrashes(6);
		const ran = await runReeve(["explain", "web:coder", "--exit", "137", "--json"], { env });
		expect(JSON.parse(ran.stdout)).toMatchObject({
			id: "web:coder",
			what_if: [{ code: 137, uptime_ms: 500, policy: "halted", action: "halt" }],
		});
		const own = await runReeve(["explain", "web:coder", "--exit", "usage_limit@2h"], { env });
		expect(own.stdout).toMatch(/usage_limit +healthy +park for/);
	});

	test("a halted agent stays halted, whatever happens", async () => {
		const { env } = await withCrashes(7, { ...DOWN, desired: "up" });
		const { stdout } = await runReeve(["explain", "web:coder"], { env });
		expect(stdout).toContain("until `reeve resume web:coder`");
	});

	test("a call agent has no crash policy, which is not an error", async () => {
		const crash = {
			state: toSnakeKeys(NEW_AGENT),
			settings: null,
			on_clean_exit: "restart" as const,
		};
		const { env } = await withCrashes(0, { ...DOWN, kind: "call", crash });
		const { code, stdout } = await runReeve(["explain", "web:coder"], { env });
		expect(code).toBe(0);
		expect(stdout).not.toContain("If it");
	});

	test.each([
		[["explain"], 2, "needs an agent, or --simulate"],
		[["explain", "web:coder", "--exit", "1 x2"], 2, "--exit needs exactly one exit"],
		[["explain", "web:coder", "--exit", "resume"], 2, "--exit needs exactly one exit"],
		[["explain", "web:coder", "--exit", "1", "--simulate", "1"], 2, "cannot be combined"],
		[["explain", "web:coder", "--on-clean-exit", "stop"], 2, "needs --simulate"],
		[["explain", "web:missing"], 4, "unknown agent web:missing"],
	])("%j is refused", async (args, code, message) => {
		const { env } = await withCrashes(1);
		const ran = await runReeve(args, { env });
		expect([ran.code, ran.stdout]).toEqual([code, ""]);
		expect(ran.stderr).toContain(message);
	});
});

describe("a broken daemon", () => {
	test("one that disappears in the middle is distinguished from none", async () => {
		const { env } = await startFakeDaemon(
			{},
			{
				intercept: (request) => {
					request.socket.destroy();
					return true;
				},
			},
		);
		const ran = await runReeve(["ps"], { env });
		expect([ran.code, ran.stdout]).toEqual([1, ""]);
		expect(ran.stderr).toContain("closed the connection");
		expect(ran.stderr).not.toContain("unknown");
	});

	test("one that disappears during a change leaves its result open (S19)", async () => {
		const { env } = await startFakeDaemon(
			{ "GET /api/v1/agents": () => ({ agents: [agentJson("web:a")] }) },
			{
				intercept: (request) => {
					if (request.method === "POST") request.socket.destroy();
					return request.method === "POST";
				},
			},
		);
		const ran = await runReeve(["restart", "web:a"], { env });
		expect([ran.code, ran.stdout]).toEqual([1, ""]);
		expect(ran.stderr).toContain("it is unknown whether the request was carried out");
		expect(ran.stderr).toContain("hint: Run `reeve daemon start`, then `reeve ps`");
	});

	test("an unexpected response is shown with its own text", async () => {
		const { env } = await startFakeDaemon(
			{},
			{
				intercept: (_, response) => {
					response.statusCode = 418;
					response.end("I am a teapot");
					return true;
				},
			},
		);
		const ran = await runReeve(["ps", "--json"], { env });
		expect(ran.code).toBe(1);
		expect(JSON.parse(ran.stdout).error.message).toContain("I am a teapot");
	});

	test("an error code of a newer daemon keeps its text", async () => {
		const { env } = await startFakeDaemon(
			{},
			{
				intercept: (_, response) => {
					response.statusCode = 409;
					const error = { code: "from_the_future", message: "not yet", hint: "Wait." };
					response.end(JSON.stringify({ error }));
					return true;
				},
			},
		);
		const ran = await runReeve(["resume", "web:coder"], { env });
		expect(ran.stderr).toBe("error: not yet\nhint: Wait.\n");
	});

	test("a home with a space and a colon in its name works", async () => {
		const home = `${temporaryFolder()}/a home: mine`;
		const { env } = await startFakeDaemon(
			{ "GET /api/v1/agents": () => ({ agents: AGENTS }) },
			{},
			home,
		);
		expect((await runReeve(["ps"], { env })).code).toBe(0);
	});
});

test("a result that goes to a closed pipe while it is followed ends the command", async () => {
	const { env } = await startFakeDaemon(
		{ "GET /api/v1/agents/:id": (id) => agentDetail(id) },
		{ logs: () => Array.from({ length: 400 }, (_, at) => `line ${at}\n`) },
	);
	const [stdout, stderr] = await runPiped("logs web:coder -f | head -n 2", env);
	expect([stdout, stderr]).toEqual(["line 0\nline 1\n", ""]);
});
