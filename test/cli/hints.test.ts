/** Hints in situations in which a user could be stuck. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runLetterList, runLetters } from "../../src/cli/commands/dead-letters.js";
import { runExplainAgent } from "../../src/cli/commands/explain-agent.js";
import { runLogs } from "../../src/cli/commands/logs.js";
import { runResume } from "../../src/cli/commands/one-agent.js";
import { runPlan } from "../../src/cli/commands/plan.js";
import { runPs } from "../../src/cli/commands/ps.js";
import { runSessions } from "../../src/cli/commands/sessions.js";
import { runTaskList } from "../../src/cli/commands/tasks.js";
import { runTokenCreate } from "../../src/cli/commands/token.js";
import { runUp } from "../../src/cli/commands/up.js";
import { ensureDaemon } from "../../src/cli/daemon-process.js";
import { prepareHome } from "../../src/daemon/self-care/acquire-home.js";
import { makeFolder } from "../../src/home/make-folder.js";
import { resolveHome } from "../../src/home/paths.js";
import type { AgentDetailJson } from "../../src/http/contract/agents.js";
import { agentDetail, agentJson, DOWN, exitJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { recordedOutput } from "../support/output.js";
import { temporaryFolder } from "../support/reeve.js";

const AGENTS = [agentJson("web:git", { kind: "call" }), agentJson("web:coder")];
const agents = () => ({ agents: AGENTS });

describe("reeve logs of an agent that printed nothing", () => {
	async function logsOf(kind: "call" | "session", options = {}) {
		const { env } = await startFakeDaemon(
			{ "GET /api/v1/agents/:id": (id) => agentDetail(id, { kind }) },
			{ logs: () => [] },
		);
		const { output, said, results } = recordedOutput();
		await runLogs(["web:git"], { lines: "10", reconnect: "0s", ...options }, { output, env }).catch(
			() => {},
		);
		return { said: said(), results: results() };
	}

	test("points to the output of a call agent, also with -f", async () => {
		const hint = expect.stringContaining("`reeve tasks ls --agent web:git`");
		expect((await logsOf("call")).said).toEqual(hint);
		expect((await logsOf("call", { follow: true })).said).toEqual(hint);
	});

	test("prints nothing if no lines are requested", async () => {
		expect(await logsOf("session", { lines: "0" })).toEqual({ said: "", results: "" });
	});

	test("reports for other agents that there is no output yet, and prints nothing to programs", async () => {
		expect((await logsOf("session")).said).toBe("web:git has no output yet");
		const { said, results } = await logsOf("call", { json: true });
		expect([said, JSON.parse(results)]).toEqual(["", { id: "web:git", lines: [] }]);
	});
});

describe("an unknown agent", () => {
	const empty = () => ({ tasks: [], next: null });
	const withNothing = () =>
		startFakeDaemon({
			...{ "GET /api/v1/tasks": empty, "GET /api/v1/dead-letters": empty },
			"GET /api/v1/agents": agents,
		});
	const notFound = expect.objectContaining({
		...{ code: "agent_not_found", hint: "Did you mean web:git?" },
	});

	test("is not found by tasks and dead-letters, with a suggestion", async () => {
		const { env } = await withNothing();
		const { output } = recordedOutput();
		const options = { agent: "web:gti", lines: "10" };
		await expect(runTaskList(options, { output, env })).rejects.toEqual(notFound);
		await expect(runLetterList(options, { output, env })).rejects.toEqual(notFound);
		await expect(runLetters("replay", [], { agent: "web:gti" }, { output, env })).rejects.toEqual(
			notFound,
		);
	});

	test("differs from an agent without tasks", async () => {
		const { env } = await withNothing();
		const { output, said } = recordedOutput();
		expect(await runTaskList({ agent: "web:git", lines: "10" }, { output, env })).toBe(0);
		expect(said()).toBe("no tasks");
	});

	test("in a plan is reported with its position, as is a session", async () => {
		const { env } = await startFakeDaemon({ "GET /api/v1/agents": agents });
		const file = join(temporaryFolder(), "plan.yaml");
		writeFileSync(
			file,
			"tasks:\n  a: { agent: web:gti, action: go }\n  b: { agent: web:coder, action: go }\n  c: { agent: web:git, action: go }\n",
		);
		const { output } = recordedOutput();
		const ran = runPlan(file, { wait: false }, { output, env });
		await expect(ran).rejects.toMatchObject({ code: "plan_file_invalid" });
		const message = await ran.catch((error: Error) => error.message);
		expect(message).toContain(`${file}:2:15: tasks.a.agent: unknown agent \`web:gti\``);
		expect(message).toContain("did you mean `web:git`?");
		expect(message).toContain(`${file}:3:15: tasks.b.agent: \`web:coder\` is a session`);
		expect(message).not.toContain("tasks.c");
	});

	test("may have a token, but its creation prints a note", async () => {
		const info = { id: "t1", scope: "agent:web:gti", expires_at: null };
		const { env } = await startFakeDaemon({
			"GET /api/v1/agents": agents,
			"POST /api/v1/tokens": (_, { scope }) =>
				({ token: "secret", info: { ...info, scope } }) as never,
		});
		const unknown = recordedOutput();
		expect(await runTokenCreate({ scope: "agent:web:gti" }, { output: unknown.output, env })).toBe(
			0,
		);
		expect(unknown.said()).toContain("there is no agent web:gti now; did you mean web:git?");
		expect(unknown.results()).toBe("secret");
		const known = recordedOutput();
		await runTokenCreate({ scope: "agent:web:git" }, { output: known.output, env });
		expect(known.said()).not.toContain("note");
	});
});

describe("reeve explain of an agent that exited", () => {
	async function explain(facts: Partial<AgentDetailJson>) {
		const { env } = await startFakeDaemon({
			"GET /api/v1/agents/:id": (id) => agentDetail(id, { exits: [exitJson()], ...facts }),
		});
		const { output, results } = recordedOutput();
		await runExplainAgent("web:coder", {}, { output, env });
		return results();
	}

	test("shows its last lines, made safe", async () => {
		const printed = ["ready", "\u001b]0;evil\u0007Error: no \u001b[31mdisk\u001b[0m"];
		const shown = await explain({ ...DOWN, desired: "up", last_output: printed });
		expect(shown).toContain("Last output before the exit\n  ready\n  Error: no disk\n");
		expect(shown).not.toContain("evil");
	});

	test("shows everything else when there are none", async () => {
		const shown = await explain({ ...DOWN, desired: "up" });
		expect(shown).not.toContain("Last output");
		expect(shown).toContain("Last exits");
	});
});

describe("reeve resume prints the next step", () => {
	test.each([
		["started", 0, "resumed (was halted); its exit history is cleared; started"],
		["stopped", 0, "it is stopped: run `reeve up web:coder` to start it"],
		["halted", 1, "its start failed: `reeve explain web:coder` shows why"],
		["failed", 1, "its start failed: `reeve explain web:coder` shows why"],
		["waiting", 0, "it has not started yet: `reeve explain web:coder` shows why"],
	] as const)("when the start came out as %s", async (outcome, code, words) => {
		const { env } = await startFakeDaemon({
			"POST /api/v1/agents/:id/resume": () => ({
				...{ from: "halted", circuit_from: "closed", released: [], outcome },
			}),
		});
		const { output, results } = recordedOutput();
		expect(await runResume("web:coder", {}, { output, env })).toBe(code);
		expect(results()).toContain(words);
	});
});

describe("without any agent", () => {
	test("reeve up, ps and sessions report it", async () => {
		const { env } = await startFakeDaemon({
			...{ "GET /api/v1/agents": () => ({ agents: [] }) },
			"POST /api/v1/fleet/up": () => ({ agents: [] }),
		});
		const file = join(temporaryFolder(), "reeve.yaml");
		writeFileSync(file, "version: 1\nprojects: {}\n");
		const { output, results, said } = recordedOutput();
		await runUp([], { file }, { output, env });
		expect(results()).toBe("no agents: the fleet file defines none");
		await runPs([], {}, { output, env });
		await runSessions([], {}, { output, env });
		const words = "no agents: `reeve init` writes a fleet file, `reeve up` starts its agents";
		expect(said()).toBe([words, words].join("\n"));
	});
});

describe("reeve explain of an agent that is called", () => {
	async function explain(facts: Partial<AgentDetailJson>) {
		const { env } = await startFakeDaemon({
			"GET /api/v1/agents/:id": (id) => agentDetail(id, { kind: "call", ...facts }),
		});
		const { output, results } = recordedOutput();
		await runExplainAgent("web:git", {}, { output, env });
		return results();
	}

	test("names its circuit, until when it is open, and how to close it", async () => {
		const open = await explain({
			...{ circuit: "open", consecutive_failures: 3, health: "unhealthy" },
			circuit_open_until: "2031-04-05T06:07:08.000Z",
		});
		expect(open).toMatch(
			/circuit +open: 3 consecutive calls failed; calls are refused until 2031-/,
		);
		expect(open).toContain("`reeve resume web:git` closes it");
		const probing = await explain({ circuit: "half_open", consecutive_failures: 3 });
		expect(probing).toContain("half open: 3 consecutive calls failed; the next call is a probe");
		expect(await explain({})).toMatch(/circuit +closed$/m);
		const degraded = await explain({ health: "degraded", consecutive_failures: 1 });
		expect(degraded).toContain("closed: 1 consecutive call failed");
	});

	test("a session has none", async () => {
		expect(await explain({ kind: "session" })).not.toContain("circuit");
	});
});

const onLinux = {
	skip: process.platform !== "linux",
	meta: { skipReason: "only Linux has a /proc that cannot hold folders" },
};
test("a home where no folder can be made is refused at once", onLinux, async () => {
	const home = resolveHome({ REEVE_HOME: "/proc/nope/home" });
	await expect(makeFolder(home.dir)).rejects.toThrow("ENOENT");
	await expect(prepareHome(home)).rejects.toThrow("ENOENT");
	await expect(ensureDaemon({ home, env: process.env })).rejects.toMatchObject({
		...{ code: "write_failed", message: expect.stringContaining("cannot use /proc/nope/home") },
	});
});

test("folders are created for their owner only, also by many processes at once", async () => {
	const path = join(temporaryFolder(), "a", "b", "c");
	await Promise.all(Array.from({ length: 8 }, () => makeFolder(path)));
	const file = join(path, "file");
	writeFileSync(file, "");
	await expect(makeFolder(file)).rejects.toThrow("is not a directory");
});
