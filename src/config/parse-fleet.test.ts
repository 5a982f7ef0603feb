import { describe, expect, it } from "vitest";
import { DEFAULT_CRASH_POLICY } from "../core/crash-state.js";
import { parseFleet } from "./parse-fleet.js";
import { renderProblem } from "./problem.js";

const CONTEXT = { env: { TOKEN: "t0" }, homeDir: "/home/ada", baseDir: "/srv/fleet" };

const parse = (text: string, env: Record<string, string> = CONTEXT.env) =>
	parseFleet(text, "reeve.yaml", { ...CONTEXT, env });

const agentsIn = (text: string) => {
	const parsed = parse(text);
	if (!parsed.ok) throw new Error(parsed.problems.map(renderProblem).join("\n"));
	return parsed.fleet.agents;
};

const EXAMPLE = `version: 1
defaults: { backend: auto }            # any agent key is valid here
projects:
  web:
    cwd: ./web                         # relative to this file
    agents:
      coder:                           # kind: session is the default
        adapter: claude
        args: [--model, opus]
        env_file: .env
        env: { DEBUG: "1", HTTP_PROXY: null }      # null removes an inherited variable
        on_clean_exit: prompt          # prompt | restart | stop
        drain: { timeout: 10s }        # 0s = kill at once
        depends_on: [db]               # started once db is ready
        limits: { memory: 2GiB, cpu: 200%, pids: 512 }
      git:
        kind: call
        command: [node, agents/git.mjs]
        timeout: 30s
        retry: { max_attempts: 3, initial_backoff: 500ms, max_backoff: 5s }
        circuit_breaker: { failure_threshold: 3, cooldown: 60s }
        concurrency: 4
      db:
        kind: worker
        command: [node, db.mjs]
        cwd: ~/db
`;

describe("parseFleet", () => {
	it("resolves the example to exactly these specs", () => {
		const retry = { maxAttempts: 3, initialBackoffMs: 500, maxBackoffMs: 5_000, jitter: 0.2 };
		const answers = { idempotent: true, unsafeActions: [], extraOutput: "tolerate" };
		const circuitBreaker = { failureThreshold: 3, cooldownMs: 60_000 };
		expect(parse(EXAMPLE)).toEqual({
			ok: true,
			warnings: [],
			planFiles: [],
			healthPrograms: [],
			fleet: {
				schedules: [],
				file: "/srv/fleet/reeve.yaml",
				agents: [
					{
						id: "web:coder",
						project: "web",
						name: "coder",
						kind: "session",
						adapter: "claude",
						profile: null,
						command: null,
						args: ["--model", "opus"],
						cwd: "/srv/fleet/web",
						envFile: "/srv/fleet/.env",
						env: { DEBUG: "1", HTTP_PROXY: null },
						limits: { memoryBytes: 2_147_483_648, cpuPercent: 200, pids: 512 },
						backend: "auto",
						terminal: true,
						tmpdir: null,
						startTimeoutMs: null,
						seed: true,
						stall: { afterMs: 1_800_000, steps: [], nudge: "Continue with what you were doing." },
						turnRetry: {
							maxAttempts: 5,
							initialBackoffMs: 15_000,
							maxBackoffMs: 300_000,
							prompt: "Continue.",
						},
						account: null,
						usageLimit: { autoResume: true, quietHours: null, maxWaitMs: 691_200_000 },
						onCleanExit: "prompt",
						drain: { timeoutMs: 10_000 },
						dependsOn: ["web:db"],
						ready: null,
						crashPolicy: DEFAULT_CRASH_POLICY,
					},
					{
						id: "web:git",
						project: "web",
						name: "git",
						kind: "call",
						adapter: "generic",
						profile: null,
						command: ["node", "agents/git.mjs"],
						args: [],
						cwd: "/srv/fleet/web",
						envFile: null,
						env: {},
						limits: { memoryBytes: null, cpuPercent: null, pids: null },
						account: null,
						usageLimit: { autoResume: true, quietHours: null, maxWaitMs: 691_200_000 },
						timeoutMs: 30_000,
						retry,
						circuitBreaker,
						concurrency: 4,
						...answers,
					},
					{
						id: "web:db",
						project: "web",
						name: "db",
						kind: "worker",
						adapter: "generic",
						profile: null,
						command: ["node", "db.mjs"],
						args: [],
						cwd: "/home/ada/db",
						envFile: null,
						env: {},
						limits: { memoryBytes: null, cpuPercent: null, pids: null },
						drain: { timeoutMs: 10_000 },
						dependsOn: [],
						ready: null,
						crashPolicy: DEFAULT_CRASH_POLICY,
						timeoutMs: 30_000,
						retry,
						circuitBreaker,
						concurrency: 4,
						...answers,
						workers: { min: 1, max: 1, idleMs: 60_000 },
					},
				],
			},
		});
	});

	it("finds ten different mistakes in one pass, each once and in its place", () => {
		const text = `version: 1
defaults:
  timeout: 30
projects:
  web:
    agents:
      coder:
        comand: [node, coder.mjs]
        on_clean_exit: restrat
      Tester:
        command: node test.mjs
        limits: { memory: 2GB }
      git:
        kind: call
        command: [git-agent]
        backend: tmux
        env: { PORT: 8080, PORT: "1" }
      db:
        command: [db]
        depends_on: [gti]
`;
		const parsed = parse(text);
		const problems = parsed.ok ? [] : parsed.problems;
		expect(problems.map((each) => [each.line, each.column, each.path, each.message])).toEqual([
			[3, 12, "defaults.timeout", "`30` is not a duration"],
			[8, 9, "projects.web.agents.coder.comand", "unknown key `comand`"],
			[9, 24, "projects.web.agents.coder.on_clean_exit", "`restrat` is not a supported value"],
			[10, 7, "projects.web.agents.Tester", "this is not a valid id"],
			[11, 18, "projects.web.agents.Tester.command", "the value is a string, not a list"],
			[12, 27, "projects.web.agents.Tester.limits.memory", "`2GB` is not a size"],
			[
				16,
				9,
				"projects.web.agents.git.backend",
				"`backend` only applies to session agents; this is a call agent",
			],
			[17, 22, "projects.web.agents.git.env.PORT", "the value is a number, not a string"],
			[17, 28, "projects.web.agents.git.env.PORT", "duplicate key"],
			[20, 22, "projects.web.agents.db.depends_on[0]", "unknown agent `gti`"],
		]);
	});

	it("applies defaults only to the kinds that support them", () => {
		const [session, call] = agentsIn(`version: 1
defaults: { timeout: 5s, drain: { timeout: 1s }, command: [a] }
projects: { p: { agents: { s: {}, c: { kind: call } } } }
`);
		expect(session).toMatchObject({ kind: "session", drain: { timeoutMs: 1_000 } });
		expect(session).not.toHaveProperty("timeoutMs");
		expect(call).toMatchObject({ kind: "call", timeoutMs: 5_000 });
		expect(call).not.toHaveProperty("drain");
	});

	it("merges maps key by key and replaces lists and single values", () => {
		const [agent] = agentsIn(`version: 1
defaults:
  args: [a, b]
  env: { A: "1", B: "2", C: "3" }
  crash_policy: { window: 2m, budget: { exits: 30 } }
projects:
  p:
    agents:
      a:
        command: [x]
        args: [c]
        env: { B: "4", C: null }
        crash_policy: { history: 20, budget: { within: 2h } }
`);
		expect(agent).toMatchObject({
			args: ["c"],
			env: { A: "1", B: "4", C: null },
			crashPolicy: {
				...DEFAULT_CRASH_POLICY,
				windowMs: 120_000,
				history: 20,
				budget: { exits: 30, withinMs: 7_200_000 },
			},
		});
	});

	it("takes an agent's directory from itself, its project, or the file's folder", () => {
		const agents = agentsIn(`version: 1
defaults: { command: [x] }
projects:
  p: { cwd: sub, agents: { a: { cwd: ../own }, b: {} } }
  q: { agents: { a: {} } }
`);
		expect(agents.map((agent) => agent.cwd)).toEqual(["/srv/own", "/srv/fleet/sub", "/srv/fleet"]);
	});

	it("puts variables into values, and reads a number where one belongs", () => {
		const text = `version: 1
projects:
  p:
    agents:
      a:
        kind: call
        command: [x, "\${TOKEN}", "\${N}"]
        concurrency: \${N}
        timeout: \${N}s
        env: { T: "\${TOKEN}", N: "\${N}", D: "\${NONE:-d}" }
`;
		const parsed = parse(text, { TOKEN: "t: [0]", N: "7" });
		expect(parsed.ok && parsed.fleet.agents[0]).toMatchObject({
			command: ["x", "t: [0]", "7"],
			concurrency: 7,
			timeoutMs: 7_000,
			env: { T: "t: [0]", N: "7", D: "d" },
		});
	});

	it("names dependencies in full, each once, in this project or another", () => {
		const agents = agentsIn(`version: 1
defaults: { command: [x] }
projects:
  p: { agents: { a: { depends_on: [b, "q:b", "p:b"] }, b: {} } }
  q: { agents: { b: {} } }
`);
		expect(agents[0]).toMatchObject({ dependsOn: ["p:b", "q:b"] });
	});

	it("reads anchors and aliases", () => {
		const [, second] = agentsIn(`version: 1
projects:
  p:
    agents:
      a: &base { command: [x], env: { A: "1" } }
      b: *base
`);
		expect(second).toMatchObject({ id: "p:b", command: ["x"], env: { A: "1" } });
	});

	it("accepts a fleet without agents", () => {
		expect(agentsIn("version: 1\nprojects: {}\n")).toEqual([]);
	});
});
