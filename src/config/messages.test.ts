/** The exact text of every message: one mistake per case, and exactly one problem for it. */

import { describe, expect, it } from "vitest";
import { parseFleet } from "./parse-fleet.js";
import { renderProblem } from "./problem.js";

const CONTEXT = { env: {}, homeDir: "/home/ada", baseDir: "/srv/fleet" };

const problemsIn = (text: string) => {
	const parsed = parseFleet(text, "reeve.yaml", CONTEXT);
	return parsed.ok ? [] : parsed.problems;
};

/** A session, worker or call agent with these keys, from line 5, column 9. */
const agent = (lines: string, kind = "session") => {
	const indented = [`kind: ${kind}`, "command: [x]", ...lines.split("\n")].map(
		(line) => `        ${line}`,
	);
	return `version: 1\nprojects:\n  p:\n    agents:\n      a:\n${indented.join("\n")}\n`;
};

const only = (text: string) => {
	const problems = problemsIn(text);
	expect(problems.map(renderProblem)).toHaveLength(1);
	const [problem] = problems;
	if (problem === undefined) throw new Error("no problem");
	return problem;
};

describe("renderProblem", () => {
	it("shows position, path and message, then the expected value and a hint", () => {
		expect(renderProblem(only(agent("timeout: 30", "call")))).toBe(
			[
				"reeve.yaml:8:18: projects.p.agents.a.timeout: `30` is not a duration",
				"  expected a duration such as `500ms`, `30s`, `5m`, `2h` or `1d`",
				"  hint: write `30s`",
			].join("\n"),
		);
	});

	it("omits parts that do not exist", () => {
		expect(renderProblem(only(""))).toBe(
			"reeve.yaml:1:1: the file is empty\n  hint: start with `version: 1`",
		);
	});

	it("lets no key write on the reader's terminal", () => {
		const problem = only(`version: 1\nprojects: {}\n"\\e[2J\\u202e": 1\n`);
		expect(renderProblem(problem)).toContain('["\\u{1b}[2J\\u{202e}"]: unknown key');
	});
});

describe("keys of a cluster", () => {
	it("are refused in a fleet file, with where they belong", () => {
		const cluster = only("version: 1\nprojects: {}\ncluster: { database: postgres:///x }\n");
		expect(renderProblem(cluster)).toMatch(/unknown key `cluster`\n {2}hint: .*`daemon\.json`/);
	});
});

describe("a value of the wrong type", () => {
	it.each([
		["timeout: 30", "call", "write `30s`"],
		["timeout: 1.5s", "call", "write `1500ms`"],
		["timeout: 30sec", "call", "write `30s`"],
		["timeout: 5 min", "call", "write `5m`"],
		["timeout: 1h30m", "call", "write `90m`"],
		["timeout: 2 Hours", "worker", "write `2h`"],
		["timeout: soon", "call", null],
		["timeout: -1s", "call", null],
		["limits: { memory: 2GB }", "session", "write `2GiB`"],
		["limits: { memory: 512m }", "session", "write `512MiB`"],
		["limits: { memory: 1.5GiB }", "session", "write `1536MiB`"],
		["limits: { memory: 512 }", "session", "write `512MiB`"],
		["limits: { memory: 1073741824 }", "session", "write `1GiB`"],
		["limits: { cpu: 2 }", "session", "write `200%`"],
		["limits: { cpu: 0.5 }", "session", "write `50%`"],
		["limits: { cpu: 150 }", "session", "write `150%`"],
		['limits: { pids: "512" }', "session", "remove the quotes"],
		["crash_policy: { jitter: 10% }", "session", "write `0.1`"],
		['crash_policy: { jitter: "0.1" }', "session", "remove the quotes"],
		["crash_policy: { jitter: 20 }", "session", "write `0.2`"],
		["on_clean_exit: restrat", "session", "did you mean `restart`?"],
		["on_clean_exit: Stop", "session", "did you mean `stop`?"],
		["backend: screen", "session", null],
		["args: --model opus", "session", "write `[--model, opus]`"],
		["args: --n 1e5 true", "session", 'write `[--n, "1e5", "true"]`'],
		["args: [--port, 8080]", "session", 'put quotes around it: `"8080"`'],
		["args: [true]", "session", 'put quotes around it: `"true"`'],
		["depends_on: db", "session", "write `[db]`"],
		["crash_policy: { permanent_exit_codes: 3 }", "session", "write `[3]`"],
		["depends_on: a{b", "session", null],
		["drain: 10s", "session", "did you mean `{ timeout: 10s }`?"],
		["drain: 10", "session", "did you mean `{ timeout: 10s }`?"],
		["retry: 3", "call", "did you mean `{ max_attempts: 3 }`?"],
		["env: { PORT: 8080 }", "session", "put quotes around it"],
		["env: { DEBUG: true }", "session", "put quotes around it"],
		["env: [A=b]", "session", "write one `NAME: value` per line"],
		["env: A=b", "session", "write one `NAME: value` per line"],
		["cwd: 5", "session", 'put quotes around it: `"5"`'],
	])("%s on a %s agent, with the hint: %s", (line, kind, hint) => {
		expect(only(agent(line, kind)).hint).toBe(hint);
	});

	it.each([
		["timeout: 0s", "call", "must be longer than `0s`"],
		["timeout: 99999999999999999d", "call", "`99999999999999999d` is too large"],
		["timeout: [30s]", "call", "found a list"],
		["timeout:", "call", "the value is missing"],
		["limits: { memory: 0B }", "session", "must be more than `0B`"],
		["limits: { cpu: 0% }", "session", "`0%` is not a percentage above `0%`"],
		["concurrency: 0", "call", "`0` is out of range"],
		["concurrency: 2.5", "call", "`2.5` is not a whole number"],
		["concurrency: 1000000", "call", "`1000000` is out of range"],
		["crash_policy: { window: 0s }", "session", "must be longer than `0s`"],
		["crash_policy: { permanent_exit_codes: [256] }", "session", "`256` is out of range"],
		['cwd: ""', "session", "the path is empty"],
		["env: { A: [b] }", "session", "found a list"],
		['args: ["a\\0b"]', "session", "the text contains a NUL byte"],
		['env: { A: "a\\0b" }', "session", "the value contains a NUL byte"],
		['env: { "": b }', "session", "the name is empty"],
		['env: { "A=B": b }', "session", "this is not a valid variable name"],
		["depends_on: [p:a:b]", "session", "`p:a:b` is not a valid agent id"],
		['ready: { log: "" }', "session", "the pattern is empty: it would match everything"],
		[
			'usage_limit: { quiet_hours: "22:00-22:00" }',
			"session",
			"`22:00-22:00` begins and ends at the same time",
		],
	])("%s on a %s agent: %s", (line, kind, message) => {
		expect(only(agent(line, kind)).message).toBe(message);
	});

	it("reports that exit code 0 is not a failure", () => {
		expect(only(agent("crash_policy: { permanent_exit_codes: [3, 0] }"))).toMatchObject({
			path: "projects.p.agents.a.crash_policy.permanent_exit_codes[1]",
			message: "0 is a clean exit, not a failure",
		});
	});

	it("reports that another user's home directory is not resolved", () => {
		expect(only(agent("cwd: ~bob/x")).message).toContain("the home directory of another user");
	});
});

describe("the command", () => {
	const withCommand = (command: string) =>
		`version: 1\nprojects: { p: { agents: { a: { ${command} } } } }\n`;

	it("is a list, and the hint shows how", () => {
		expect(only(withCommand("command: node agent.mjs"))).toMatchObject({
			message: "the value is a string, not a list",
			hint: "write `[node, agent.mjs]`",
		});
	});

	it("is not split where only a shell could split it", () => {
		expect(only(withCommand(`command: "sh -c 'a b'"`)).hint).toBe('write `[sh, -c, "…"]`');
	});

	it("is needed by the generic adapter, and only by that", () => {
		expect(only(withCommand(""))).toMatchObject({
			line: 2,
			column: 28,
			path: "projects.p.agents.a.command",
			message: "required key is missing",
			expected: "the program and its arguments as a list, since the adapter is `generic`",
		});
		expect(problemsIn(withCommand("adapter: claude"))).toEqual([]);
	});

	it("is not missed when its key or its adapter is misspelt", () => {
		expect(only(withCommand("cmd: [x]")).hint).toBe("did you mean `command`?");
		expect(only(withCommand("adaptor: claude")).hint).toBe("did you mean `adapter`?");
		expect(only(withCommand("adapter: clade")).hint).toBe("did you mean `claude`?");
	});

	it.each([
		["command: []", "the list is empty"],
		['command: [""]', "the program is an empty string"],
		['command: ["a\\0"]', "the text contains a NUL byte"],
	])("%s: %s", (command, message) => {
		expect(only(withCommand(command)).message).toBe(message);
	});
});

describe("a key in a wrong place", () => {
	it.each([
		["comand: [x]", "did you mean `command`?"],
		["environment: {}", "did you mean `env`?"],
		["enviroment: {}", "did you mean `env`?"],
		["dependsOn: []", "did you mean `depends_on`?"],
		["max_attempts: 3", "`max_attempts` belongs under `turn_retry` or under `retry`"],
		["memory: 2GiB", "`memory` belongs under `limits`"],
		["exits: 3", "`exits` belongs under `crash_policy.budget`"],
		["jitter: 0.1", "`jitter` belongs under `crash_policy` or under `retry`"],
		["agents: {}", "`agents` belongs in a project"],
		["version: 1", "`version` belongs at the top of the file"],
		["drain: { backend: pty }", "`backend` belongs in an agent"],
		["<<: {}", "YAML merge keys are not supported; put keys for all agents under `defaults`"],
		["toString: 1", null],
	])("%s: %s", (line, hint) => {
		expect(only(agent(line))).toMatchObject({
			message: expect.stringMatching(/^unknown key `.+`$/),
			hint,
		});
	});

	it("lists all valid keys if none is close", () => {
		expect(only(agent("limits: { widgets: 1 }")).expected).toBe("`memory`, `cpu` or `pids`");
	});

	it("names the place of a top-level key, too", () => {
		expect(only("version: 1\nprojects: {}\nagents: {}\n")).toMatchObject({
			line: 3,
			column: 1,
			path: "agents",
			hint: "`agents` belongs in a project",
		});
	});

	it.each([
		[
			"timeout: 30",
			"session",
			"`timeout` only applies to call and worker agents; this is a session agent",
		],
		["backend: tmux", "worker", "`backend` only applies to session agents; this is a worker agent"],
		[
			"drain: {}",
			"call",
			"`drain` only applies to session and worker agents; this is a call agent",
		],
	])("%s on a %s agent: %s", (line, kind, message) => {
		expect(only(agent(line, kind))).toMatchObject({ line: 8, column: 9, message, hint: null });
	});

	it("explains how to make it a key of this agent when no kind was written", () => {
		const text = "version: 1\nprojects: { p: { agents: { a: { command: [x], timeout: 3s } } } }\n";
		expect(only(text).hint).toBe("add `kind: call` or `kind: worker`, or remove the key");
	});
});

describe("the top level of the file", () => {
	it("needs a version", () => {
		expect(only("projects: {}\n")).toMatchObject({
			line: 1,
			column: 1,
			path: "version",
			message: "required key is missing",
			hint: "start the file with `version: 1`",
		});
	});

	it.each([
		["version: 2\nprojects: {}\n", "unknown version `2` of this format"],
		['version: "1"\nprojects: {}\n', "the version is a string, not a number"],
		["version: 1\n", "required key is missing"],
		["version: 1\nprojects:\n", "the value is missing"],
		["version: 1\nprojects: { p: { agents: } }\n", "the value is missing"],
		["version: 1\nprojects: { p: {} }\n", "required key is missing"],
		["version: 1\nprojects: { p: { agents: { a: } } }\n", "the value is missing"],
		["version: 1\nprojects: { p: { agents: [a] } }\n", "found a list"],
		["- version\n", "found a list"],
		["hello\n", "the value is not a map"],
	])("%j: %s", (text, message) => {
		expect(only(text).message).toBe(message);
	});

	it.each([
		["Web App", "write `web-app`"],
		["-web", "write `web`"],
		["webApp", "write `web-app`"],
		["x".repeat(64), `write \`${"x".repeat(63)}\``],
		["ü", null],
	])("suggests an id for %j", (id, hint) => {
		const problem = only(`version: 1\nprojects: { "${id}": { agents: {} } }\n`);
		expect(problem).toMatchObject({ message: "this is not a valid id", hint, line: 2, column: 13 });
	});

	it("checks the keys below a bad id anyway", () => {
		const text =
			"version: 1\nprojects: { P: { agents: { A: { command: [1], depends_on: [b] } } } }\n";
		expect(problemsIn(text).map((problem) => problem.message)).toEqual([
			"this is not a valid id",
			"this is not a valid id",
			"`1` is a number, not a string",
			"unknown agent `b`",
		]);
	});
});

describe("depends_on", () => {
	const fleet = (agents: string, more = "") =>
		`version: 1\ndefaults: { command: [x] }\nprojects:\n  p: { agents: { ${agents} } }\n${more}`;

	it.each([
		["a: { depends_on: [bd] }, db: {}", "unknown agent `bd`", "did you mean `db`?"],
		["a: { depends_on: [far] }", "unknown agent `far`", "did you mean `q:far`?"],
		["a: { depends_on: [q:fra] }", "unknown agent `q:fra`", "did you mean `q:far`?"],
		["a: { depends_on: [zzzzzzz] }", "unknown agent `zzzzzzz`", null],
		["a: { depends_on: [a] }", "agent `p:a` cannot depend on itself", null],
		["a: { depends_on: [Db] }, db: {}", "`Db` is not a valid agent id", "write an id as `db`"],
		[
			"a: { depends_on: [c] }, c: { kind: call }",
			"agent `p:c` is a call agent, which is never started, so no agent can depend on it",
			null,
		],
	])("%s: %s", (agents, message, hint) => {
		const problem = only(fleet(agents, "  q: { agents: { far: {} } }\n"));
		expect(problem).toMatchObject({ line: 4, column: 36, message, hint });
		expect(problem.path).toBe("projects.p.agents.a.depends_on[0]");
	});

	it("shows each cycle once", () => {
		const text = fleet(
			"a: { depends_on: [b] }, b: { depends_on: [q:c] }, d: { depends_on: [e] }, e: { depends_on: [d] }",
			"  q: { agents: { c: { depends_on: [p:a] } } }\n",
		);
		expect(problemsIn(text).map((problem) => problem.message)).toEqual([
			"circular dependency: p:a -> p:b -> q:c -> p:a",
			"circular dependency: p:d -> p:e -> p:d",
		]);
	});

	it("is checked even if another entry of the list is wrong", () => {
		const problems = problemsIn(fleet("a: { depends_on: [7, nope] }"));
		expect(problems.map((problem) => problem.path)).toEqual([
			"projects.p.agents.a.depends_on[0]",
			"projects.p.agents.a.depends_on[1]",
		]);
	});
});

describe("keys that do not go together", () => {
	const FLAPS = "flapping can never be reached: `flap_threshold` is";

	it("finds a flap threshold that the history cannot reach", () => {
		expect(only(agent("crash_policy: { flap_threshold: 12 }"))).toMatchObject({
			path: "projects.p.agents.a.crash_policy.flap_threshold",
			message: `${FLAPS} \`12\`, but \`history\` keeps only \`10\` exits`,
		});
		expect(only(agent("crash_policy: { history: 2 }"))).toMatchObject({
			path: "projects.p.agents.a.crash_policy.history",
			message: `${FLAPS} \`3\`, but \`history\` keeps only \`2\` exits`,
		});
		expect(problemsIn(agent("crash_policy: { flap_threshold: 10 }"))).toEqual([]);
	});

	it.each([
		["delay: { factor: 0.5 }", "delay.factor", "shorter with each failure"],
		["delay: { initial: 10m }", "delay.initial", "is longer than `max` (`5m`)"],
		["halt: never, on_failure: stop", "halt", "has no effect"],
		["delay: { initial: 1s }, transient_delay: 3s", "transient_delay", "`delay` replaces it"],
		["flapping_delay: 3s, delay: { initial: 1s }", "flapping_delay", "has no effect"],
	])("refuses crash_policy: { %s } at `%s`", (policy, key, message) => {
		const problem = only(agent(`crash_policy: { ${policy} }`));
		expect(problem.path).toBe(`projects.p.agents.a.crash_policy.${key}`);
		expect(problem.message).toContain(message);
	});

	it("finds a budget that flapping always comes before", () => {
		const problem = only(agent("crash_policy: { budget: { within: 30s } }"));
		expect(problem.path).toBe("projects.p.agents.a.crash_policy.budget.within");
		expect(problem.message).toContain("the budget can never be reached");
		expect(problemsIn(agent("crash_policy: { budget: { exits: 7, within: 30s } }"))).toEqual([]);
		expect(problemsIn(agent("crash_policy: { budget: { within: 61s } }"))).toEqual([]);
	});

	it("finds a first wait that is longer than the longest", () => {
		expect(only(agent("retry: { initial_backoff: 10s }", "call"))).toMatchObject({
			line: 8,
			column: 35,
			message: "`initial_backoff` (`10s`) is longer than `max_backoff` (`5s`)",
		});
	});

	it("reports a problem in `defaults` there, once for all agents", () => {
		const text = `version: 1
defaults: { command: [x], crash_policy: { flap_threshold: 20 } }
projects: { p: { agents: { a: {}, b: {}, c: { kind: call } } } }
`;
		expect(only(text)).toMatchObject({
			line: 2,
			column: 59,
			path: "defaults.crash_policy.flap_threshold",
		});
	});

	it("reports a problem of the agent's own key at that key", () => {
		const text = `version: 1
defaults: { command: [x], crash_policy: { history: 5 } }
projects: { p: { agents: { a: {}, b: { crash_policy: { flap_threshold: 6 } } } } }
`;
		expect(only(text).path).toBe("projects.p.agents.b.crash_policy.flap_threshold");
	});

	it("skips rules whose keys are wrong, and checks the others", () => {
		const text = agent("crash_policy: { flap_threshold: x, history: 1, budget: { within: 1s } }");
		expect(only(text).path).toBe("projects.p.agents.a.crash_policy.flap_threshold");
		const both = problemsIn(agent("timeout: 3\nretry: { initial_backoff: 10s }", "worker"));
		expect(both.map((problem) => problem.path)).toEqual([
			"projects.p.agents.a.timeout",
			"projects.p.agents.a.retry.initial_backoff",
		]);
	});
});

describe("being ready", () => {
	it.each([
		["ready: { log: started, port: 80 }", "`ready` has 2 conditions"],
		["ready: {}", "`ready` has no condition"],
		["ready: { log: '(' }", "`(` is not a valid pattern: missing closing ): `(`"],
		[
			"ready: { log: 'up(?!grade)' }",
			"`up(?!grade)` is not a valid pattern: lookaheads and lookbehinds are not supported",
		],
		[
			"ready: { log: '(a)\\1' }",
			"`(a)\\1` is not a valid pattern: backreferences are not supported",
		],
		["ready: { port: 70000 }", "`70000` is out of range"],
		["terminal: maybe", "`maybe` is neither true nor false"],
	])("%s: %s", (line, message) => {
		expect(only(agent(line)).message).toBe(message);
	});

	it("recognises other spellings of true and false", () => {
		expect(only(agent("terminal: no")).hint).toBe("write `false`");
		expect(only(agent("terminal: on")).hint).toBe("write `true`");
	});
});

describe("mistakes that YAML accepts", () => {
	it.each([
		["env: { DEBUG:1 }", "this is not a valid variable name", "write `NAME: value`, with a space"],
		["env: { MY VAR: x }", "this is not a valid variable name", null],
		[
			"env: { FOO: }",
			"the value is missing",
			'write `null` to remove the variable, or `""` to leave it empty',
		],
		["adapter: claude-code", "unknown adapter `claude-code`", "did you mean `claude`?"],
		["drain: timeout:10s", "the value is not a map", "put a space after `timeout:`"],
	])("%s: %s", (line, message, hint) => {
		expect(only(agent(line))).toMatchObject({ message, hint });
	});

	it("an explicit null is not a mistake", () => {
		expect(problemsIn(agent("env: { FOO: null, BAR: ~ }"))).toEqual([]);
	});
});

describe("adapters of agents that are called", () => {
	it("must be of a CLI that can be called", () => {
		expect(only(agent("adapter: aider", "call"))).toMatchObject({
			message: "`aider` cannot be called without a terminal",
			expected: "`claude`, `codex`, `gemini`, `opencode` or `pi`",
		});
		expect(only(agent("adapter: claude", "worker")).message).toContain("cannot be a worker");
		expect(problemsIn(agent("adapter: claude", "call"))).toEqual([]);
	});
});

describe("bounds", () => {
	it("A6: reports that there are more problems than listed", () => {
		const agents = Array.from({ length: 600 }, (_, n) => `      a${n}: { command: [x], nope: 1 }`);
		const problems = problemsIn(`version: 1\nprojects:\n  w:\n    agents:\n${agents.join("\n")}\n`);
		expect(problems).toHaveLength(501);
		expect(problems.at(-1)?.message).toMatch(/more problems are not shown/);
	});

	it("A6: refuses defaults that would make a small file a huge fleet", () => {
		const names = Array.from({ length: 2_000 }, (_, n) => `    V${n}: x`);
		const agents = Array.from({ length: 1_000 }, (_, n) => `      a${n}: { command: [x] }`);
		const text = `version: 1\ndefaults:\n  env:\n${names.join("\n")}\nprojects:\n  w:\n    agents:\n${agents.join("\n")}\n`;
		expect(only(text)).toMatchObject({
			line: 3,
			message: "too many variables: 2000 for each of 1000 agents",
		});
	});
});
