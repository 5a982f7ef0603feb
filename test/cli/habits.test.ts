/** Short names, aliases and suggestions, as real processes against a daemon with scripted responses. */

import { describe, expect, test } from "vitest";
import type { TaskJson } from "../../src/http/contract/tasks.js";
import { agentJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";

const AGENTS = ["web:coder", "web:db", "api:db"].map((id) => agentJson(id));
const LIST = { "GET /api/v1/agents": () => ({ agents: AGENTS }) };

test.each([
	[["ls"], "web:coder"],
	[["list", "coder"], "web:coder"],
	[["stop", "coder"], "web:coder"],
])("%j is another name of a command", async (args, expected) => {
	const daemon = await startFakeDaemon({
		...LIST,
		"POST /api/v1/agents/:scope/down": (id) => ({
			agents: [{ id, outcome: "graceful" as const, duration_ms: 5, reason: null, killed: [] }],
		}),
	});
	const ran = await runReeve(args, { env: daemon.env });
	expect([ran.code, ran.stderr]).toEqual([0, ""]);
	expect(ran.stdout).toContain(expected);
});

test("reeve start is reeve up", async () => {
	const ran = await runReeve(["start"], { env: { REEVE_HOME: temporaryFolder() } });
	expect(ran.stderr).toContain("reeve.yaml");
});

test.each([
	[["status"], "`reeve daemon status`"],
	[["rm", "web:coder"], "`reeve reload`"],
	[["atach", "web:coder"], "Did you mean attach?"],
	[["xyzzy"], "`reeve --help`"],
	[["kill", "--json"], "--timeout 0s"],
])("%j is refused with the right command", async (args, hint) => {
	const ran = await runReeve(args, { env: { REEVE_HOME: temporaryFolder() } });
	expect(ran.code).toBe(2);
	expect(`${ran.stdout}${ran.stderr}`).toContain(hint);
});

test("an unknown option gets a suggestion", async () => {
	const ran = await runReeve(["ps", "--jsn"], { env: { REEVE_HOME: temporaryFolder() } });
	expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining("--json")]);
});

test("the help is in groups", async () => {
	const { stdout } = await runReeve(["--help"]);
	const groups = ["Fleet:", "Agents:", "Calls:", "Daemon and access:", "Other:"];
	const places = groups.map((group) => stdout.indexOf(group));
	expect(places.every((place) => place > 0)).toBe(true);
	expect(places).toEqual([...places].sort((a, b) => a - b));
	expect(stdout).toMatch(/down\|stop/);
});

describe("a name instead of an id", () => {
	test("names the agent where it is the only one of that name", async () => {
		const daemon = await startFakeDaemon({
			...LIST,
			"GET /api/v1/agents/:id/screen": () => ({
				...{ text: "> \u001b[31mready\u001b[0m\n\n\n", incomplete: false },
			}),
		});
		const ran = await runReeve(["screen", "coder"], { env: daemon.env });
		expect(ran).toEqual({ code: 0, stdout: "> ready\n", stderr: "" });
		expect(daemon.calls.at(-1)?.place).toBe("web:coder");
		const json = await runReeve(["screen", "cod", "--json"], { env: daemon.env });
		expect(JSON.parse(json.stdout)).toEqual({
			...{ id: "web:coder", lines: ["> ready"], incomplete: false },
		});
	});

	test.each([
		[["logs", "db"]],
		[["send", "db", "hello"]],
		[["resume", "db"]],
		[["answer", "db", "stop"]],
		[["explain", "db"]],
		[["screen", "db"]],
		[["reply", "db", "yes"]],
		[["call", "db", "act"]],
		[["down", "db"]],
		[["restart", "db"]],
		[["ps", "db"]],
		[["sessions", "db"]],
		[["events", "--agent", "db"]],
		[["tasks", "ls", "--agent", "db"]],
		[["dead-letters", "ls", "--agent", "db"]],
	])("%j: one that several have is refused with the candidates", async (args) => {
		const daemon = await startFakeDaemon(LIST);
		const ran = await runReeve(args, { env: daemon.env });
		expect(ran.code).toBe(2);
		expect(ran.stderr).toContain("`db` is ambiguous, it matches 2 agents: web:db, api:db");
		expect(daemon.calls.map(({ name }) => name)).toEqual(["GET /api/v1/agents"]);
	});
});

describe("a part of a task's id", () => {
	const IDS = [
		"019a9458-1111-7000-8000-00000000aaaa",
		"019a9458-2222-7000-8000-00000000bbbb",
		"019a9459-3333-7000-8000-00000000cccc",
	];
	const task = (id: string) =>
		({
			...{ task_id: id, plan_id: id, name: "root", agent: "web:git", action: "log" },
			...{ status: "succeeded", attempts: [], max_attempts: 3, priority: 0, idempotent: true },
			...{ timeout_ms: 1_000, depends_on: [], reason: "done", next_attempt_at: null },
			...{ created_at: "2031-04-05T06:07:08.000Z", ended_at: null, correlation_id: "c" },
			...{ replay_of: null, replayed_as: null, discarded: false, may_have_run: false },
			...{ payload: {}, context: {} },
		}) as const satisfies TaskJson & { payload: unknown; context: unknown };
	const withTasks = () =>
		startFakeDaemon(
			{},
			{
				intercept(request, response) {
					const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
					const part = searchParams.get("part");
					const single = /^\/api\/v1\/tasks\/(.+)$/.exec(pathname)?.[1];
					const found = IDS.filter(
						(id) => part === null || id.startsWith(part) || id.endsWith(part),
					);
					const counts = searchParams.get("counts") === "1" && {
						counts: { queued: 3, succeeded: 1_230 },
					};
					const tasks = found.map(task);
					response.end(JSON.stringify(single ? task(single) : { tasks, next: null, ...counts }));
					return true;
				},
			},
		);

	test.each([
		["019a9459", IDS[2]],
		["bbbb", IDS[1]],
		[IDS[0] ?? "", IDS[0]],
	])("%s names one task", async (part, expected) => {
		const { env } = await withTasks();
		const ran = await runReeve(["tasks", "show", part, "--json"], { env });
		expect([ran.code, JSON.parse(ran.stdout).task_id]).toEqual([0, expected]);
	});

	test("one that fits several is refused with the candidates", async () => {
		const { env } = await withTasks();
		const ran = await runReeve(["tasks", "cancel", "019a9458"], { env });
		expect([ran.code, ran.stdout]).toEqual([2, ""]);
		expect(ran.stderr).toContain("is ambiguous, it matches 2 tasks");
		expect(ran.stderr).toContain(`${IDS[0]}  web:git log, succeeded`);
	});

	test("the list shows the number of agents by state", async () => {
		const { env } = await withTasks();
		const ran = await runReeve(["tasks", "ls"], { env });
		expect(ran.stderr).toBe("showing 3 of 1233 tasks: 3 queued, 1230 succeeded\n");
		const some = await runReeve(["tasks", "ls", "--status", "queued"], { env });
		expect(some.stderr).toBe(
			"showing 3 of 3 queued tasks: of 1233 tasks, 3 queued, 1230 succeeded\n",
		);
	});
});
