/** Commands that change the fleet, as real processes against a daemon with scripted responses. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ReeveError } from "../../src/core/errors.js";
import type { StartedJson } from "../../src/http/contract/agents.js";
import type { ReloadedJson } from "../../src/http/contract/fleet.js";
import type { StoppedJson } from "../../src/http/contract/shapes.js";
import { agentJson, DOWN } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";

const FLEET = `version: 1
projects:
  web:
    agents:
      coder: { command: [sleep, "1"], depends_on: [db], env: { TOKEN: "\${TOKEN:-none}" } }
      db: { command: [sleep, "1"] }
      git: { kind: call, command: [git] }
  tools:
    agents:
      fmt: { kind: call, command: [fmt] }
`;

function fleetFolder(text = FLEET): string {
	const folder = temporaryFolder();
	writeFileSync(join(folder, "reeve.yaml"), text);
	return folder;
}

const started = (id: string, facts: Partial<StartedJson> = {}): StartedJson => ({
	...{ id, outcome: "started", reason: "started by the operator", pid: 4_711 },
	...facts,
});
const stopped = (id: string, facts: Partial<StoppedJson> = {}): StoppedJson => ({
	...{ id, outcome: "graceful", duration_ms: 1_234, reason: null, killed: [] },
	...facts,
});
const restarted = (id: string, start: Partial<StartedJson> = {}) => ({
	...stopped(id),
	start: started(id, start),
});
const RUNNING = ["web:coder", "web:db", "api:one"].map((id) => agentJson(id));

describe("reeve up", () => {
	test("sends the resolved fleet, with the caller's variables, and prints the result", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/fleet/up": () => ({
				agents: [started("web:coder"), started("web:db", { outcome: "already_running" })],
			}),
		});
		const cwd = fleetFolder();
		const ran = await runReeve(["up"], { cwd, env: { ...daemon.env, TOKEN: "t0k3n" } });
		expect(ran).toEqual({
			code: 0,
			stdout: "4 agents: 1 started, 1 already running, 2 on call\n",
			stderr: "",
		});
		const up = daemon.calls.find(({ name }) => name === "POST /api/v1/fleet/up");
		expect(up?.body).toMatchObject({
			scope: "*",
			fleet: {
				file: join(cwd, "reeve.yaml"),
				agents: [
					{ id: "web:coder", depends_on: ["web:db"], env: { TOKEN: "t0k3n" } },
					{ id: "web:db" },
					{ id: "web:git" },
					{ id: "tools:fmt" },
				],
			},
		});
	});

	test("gives every agent that did not simply start a line with its reason, and fails with it", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/fleet/up": () => ({
				agents: [
					started("web:coder", { outcome: "halted", reason: "flapping 5 of 5" }),
					started("web:db", { outcome: "old_settings", reason: "runs with its old settings" }),
					started("web:x", { outcome: "failed", reason: "no \u001b[31msuch\u001b[0m program" }),
				],
			}),
		});
		const { code, stdout, stderr } = await runReeve(["up"], {
			cwd: fleetFolder(),
			env: daemon.env,
		});
		expect(code).toBe(1);
		expect(stdout).toMatch(/^web:coder +halted +flapping 5 of 5$/m);
		expect(stdout).toMatch(/^web:db +already running +runs with its old settings$/m);
		expect(stdout).toMatch(/^web:x +failed +no such program$/m);
		expect(stdout).toContain("5 agents: 1 halted, 1 already running, 1 failed, 2 on call");
		expect(stderr).toContain("`reeve resume web:coder`");
		expect(stderr).toContain("`reeve reload`");
		expect(stderr).toContain("`reeve explain web:x`");
	});

	test("requests each scope once, and keeps the first result of an agent", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/fleet/up": (_, { scope }) => ({
				agents:
					scope === "web"
						? [started("web:coder"), started("web:db")]
						: [started("web:db", { outcome: "already_running" })],
			}),
		});
		const args = ["up", "web", "web:db", "web", "--json"];
		const ran = await runReeve(args, { cwd: fleetFolder(), env: daemon.env });
		expect(ran.code).toBe(0);
		expect(JSON.parse(ran.stdout)).toEqual([started("web:coder"), started("web:db")]);
		const asked = daemon.calls.filter(({ name }) => name === "POST /api/v1/fleet/up");
		expect(asked.map(({ body }) => (body as { scope: string }).scope)).toEqual(["web", "web:db"]);
	});

	test.each([
		[["up", "wbe"], 4, "Did you mean web?"],
		[["up", "web:codr"], 4, "Did you mean web:coder?"],
		[["up", "a/b"], 4, "unknown remote a"],
		[["up", "-f", "nowhere.yaml"], 2, "fleet file not found: nowhere.yaml"],
		[["up", "web", "--all"], 2, "scopes and --all cannot be combined"],
	])("%j is refused before anything is started", async (args, code, message) => {
		// There is no daemon, and none is started for an impossible request.
		const ran = await runReeve(args, {
			cwd: fleetFolder(),
			env: { REEVE_HOME: join(temporaryFolder(), "home") },
		});
		expect(ran.code).toBe(code);
		expect(ran.stdout).toBe("");
		expect(ran.stderr).toContain(message);
	});

	test("a fleet file with problems is reported with every position, also as JSON", async () => {
		const cwd = fleetFolder(
			FLEET.replace("depends_on", "depend_on").replace("kind: call", "kin: x"),
		);
		const ran = await runReeve(["up"], { cwd });
		expect(ran.code).toBe(2);
		expect(ran.stderr).toContain("did you mean `depends_on`?");
		expect(ran.stderr).toContain("unknown key `kin`");
		const json = await runReeve(["up", "--json"], { cwd });
		expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "fleet_file_invalid" } });
	});

	test("an error of the daemon is printed with its text and exit code", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/fleet/up": () => {
				throw new ReeveError("agent_taken", "agent web:db is already defined in /other.yaml");
			},
		});
		const ran = await runReeve(["up"], { cwd: fleetFolder(), env: daemon.env });
		expect([ran.code, ran.stdout]).toEqual([5, ""]);
		expect(ran.stderr).toContain("error: agent web:db is already defined in /other.yaml");
		expect(ran.stderr).toContain("hint: Rename the project");
	});
});

describe("reeve down and reeve restart", () => {
	test("stop the agents in scope and print the outcome of each", async () => {
		const daemon = await startFakeDaemon({
			"GET /api/v1/agents": () => ({ agents: RUNNING }),
			"POST /api/v1/agents/:scope/down": () => ({
				agents: [
					stopped("web:coder"),
					stopped("web:db", { outcome: "timed_out_killed", reason: "it did not end in 5s" }),
				],
			}),
		});
		const ran = await runReeve(["down", "web", "--timeout", "5s"], { env: daemon.env });
		expect([ran.code, ran.stderr]).toEqual([0, ""]);
		expect(ran.stdout).toMatch(/^web:coder +stopped gracefully +1.2s$/m);
		expect(ran.stdout).toMatch(/^web:db +timed out, killed +1.2s +it did not end in 5s$/m);
		expect(daemon.calls.at(-1)).toEqual({
			name: "POST /api/v1/agents/:scope/down",
			place: "web",
			body: { timeout_ms: 5_000 },
		});
	});

	test("several scopes are requested one by one and merged into one answer", async () => {
		const daemon = await startFakeDaemon({
			"GET /api/v1/agents": () => ({ agents: RUNNING }),
			"POST /api/v1/agents/:scope/restart": (scope) => ({ agents: [restarted(scope)] }),
		});
		const args = ["restart", "web:coder", "api:one", "--fresh", "--json"];
		const ran = await runReeve(args, { env: daemon.env });
		expect(ran.code).toBe(0);
		expect(JSON.parse(ran.stdout)).toEqual([restarted("web:coder"), restarted("api:one")]);
		expect(daemon.calls.at(-1)?.body).toEqual({ fresh: true });
	});

	test("--all stops all agents, and fails for one that is not proven to have exited", async () => {
		const daemon = await startFakeDaemon({
			"GET /api/v1/agents": () => ({ agents: RUNNING }),
			"POST /api/v1/agents/:scope/down": () => ({
				agents: [stopped("web:db", { outcome: "not_proven", reason: "permission denied" })],
			}),
		});
		const ran = await runReeve(["down", "--all"], { env: daemon.env });
		expect(ran.code).toBe(1);
		expect(ran.stdout).toMatch(/^web:db +may still be running +1.2s +permission denied$/m);
		expect(daemon.calls.at(-1)?.place).toBe("*");
	});

	test("a mistake in one scope does not affect the others", async () => {
		const daemon = await startFakeDaemon({ "GET /api/v1/agents": () => ({ agents: RUNNING }) });
		const ran = await runReeve(["down", "api", "web:codre"], { env: daemon.env });
		expect([ran.code, ran.stdout]).toEqual([4, ""]);
		expect(ran.stderr).toContain("Did you mean web:coder?");
		expect(daemon.calls.map(({ name }) => name)).toEqual(["GET /api/v1/agents"]);
	});

	test("a call agent has nothing that could be stopped", async () => {
		const agents = [agentJson("web:git", { ...DOWN, kind: "call" })];
		const daemon = await startFakeDaemon({ "GET /api/v1/agents": () => ({ agents }) });
		const ran = await runReeve(["down", "web:git"], { env: daemon.env });
		expect([ran.code, ran.stderr]).toEqual([
			2,
			expect.stringContaining("only runs while it serves a call"),
		]);
	});

	test.each(["down", "restart"] as const)(
		"%s skips a scope of call agents only, and handles the others",
		async (command) => {
			const agents = [
				agentJson("calls:git", { ...DOWN, kind: "call" }),
				agentJson("workers:git", { kind: "worker" }),
			];
			const daemon = await startFakeDaemon({
				"GET /api/v1/agents": () => ({ agents }),
				[`POST /api/v1/agents/:scope/${command}`]: () => ({ agents: [restarted("workers:git")] }),
			});
			const ran = await runReeve([command, "calls", "workers"], { env: daemon.env });
			expect(ran.stdout).toContain("workers:git");
			expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("calls: skipped")]);
			const acted = daemon.calls.filter(({ name }) => name.startsWith("POST"));
			expect(acted.map(({ place }) => place)).toEqual(["workers"]);
		},
	);

	test.each([
		[["down"], "reeve down needs a project, an agent or --all"],
		[["restart"], "`reeve restart --all` for all"],
		[["down", "--all", "web"], "cannot be combined"],
		[["down", "web", "--timeout", "10"], "invalid value for --timeout: `10`"],
		[["restart", "web", "--timeout", "soon"], "500ms, 10s, 5m"],
	])("%j is a usage error, with or without a daemon", async (args, message) => {
		const ran = await runReeve(args, { env: { REEVE_HOME: temporaryFolder() } });
		expect([ran.code, ran.stdout]).toEqual([2, ""]);
		expect(ran.stderr).toContain(message);
		const json = await runReeve([...args, "--json"], { env: { REEVE_HOME: temporaryFolder() } });
		expect(json.code).toBe(2);
		expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "usage" } });
	});
});

const UNTOUCHED = { outcome: null, duration_ms: null, killed: [] } as const;

describe("reeve reload", () => {
	const changes = [
		{ id: "web:new", change: "add", keys: [], ...UNTOUCHED, start: started("web:new") },
		{
			...{ id: "web:db", change: "change", keys: ["args", "env"] },
			...{ outcome: "graceful", duration_ms: 12, killed: [], start: started("web:db") },
		},
		{
			...{ id: "web:old", change: "remove", keys: [] },
			...{ outcome: "already_stopped", duration_ms: 0, killed: [], start: null },
		},
		{ id: "web:coder", change: "keep", keys: [], ...UNTOUCHED, start: null },
	] as const satisfies readonly ReloadedJson[];

	test("shows changed agents, and only counts unchanged ones", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/fleet/reload": () => ({ changes, schedules: [] }),
		});
		const ran = await runReeve(["reload"], { cwd: fleetFolder(), env: daemon.env });
		expect([ran.code, ran.stderr]).toEqual([0, ""]);
		expect(ran.stdout).toMatch(/^AGENT +CHANGE +STOP +START +DETAIL +KEYS$/m);
		expect(ran.stdout).toMatch(
			/^web:db +change +stopped gracefully +started +pid 4711 +args, env$/m,
		);
		expect(ran.stdout).toContain("1 added, 1 changed, 1 removed, 1 kept\n");
		expect(ran.stdout).not.toMatch(/^web:coder/m);
		expect(daemon.calls.at(-1)?.body).toMatchObject({
			dry_run: false,
			fleet: { agents: [{}, {}, {}, {}] },
		});
	});

	test("--dry-run reports that nothing was changed", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/fleet/reload": () => ({ changes, schedules: [] }),
		});
		const ran = await runReeve(["reload", "--dry-run"], { cwd: fleetFolder(), env: daemon.env });
		expect(ran.stdout).toContain("nothing was changed");
		expect(daemon.calls.at(-1)?.body).toMatchObject({ dry_run: true });
		const json = await runReeve(["reload", "--json"], { cwd: fleetFolder(), env: daemon.env });
		expect(JSON.parse(json.stdout)).toEqual(changes);
	});

	test("reports when there is nothing to do", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/fleet/reload": () => ({ changes: changes.slice(3), schedules: [] }),
		});
		const ran = await runReeve(["reload"], { cwd: fleetFolder(), env: daemon.env });
		expect(ran.stdout).toBe("nothing to do: 1 agent unchanged\n");
	});
});

describe("commands for one agent", () => {
	test("resume", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/agents/:id/resume": () => ({
				...{ from: "halted", circuit_from: "closed", released: [] },
			}),
		});
		const ran = await runReeve(["resume", "web:coder"], { env: daemon.env });
		expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("was halted")]);
		const json = await runReeve(["resume", "web:coder", "--json"], { env: daemon.env });
		expect(JSON.parse(json.stdout)).toEqual({
			id: "web:coder",
			from: "halted",
			circuit_from: "closed",
			released: [],
		});
		expect(daemon.calls[0]?.place).toBe("web:coder");
	});

	test("resume names the hold of a healthy agent, and does not claim to clear its history", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/agents/:id/resume": () => ({
				...{
					from: "healthy",
					circuit_from: "closed",
					released: ["account", "budget"],
				},
			}),
		});
		const ran = await runReeve(["resume", "web:coder"], { env: daemon.env });
		expect(ran.stdout).toBe(
			"web:coder: resumed; it no longer waits for its account's usage limit; its budget is lifted for today\n",
		);
	});

	test("inbox shows undelivered messages and the reason", async () => {
		const message = {
			id: "m1",
			agent: "web:coder",
			accepted_at: "2031-04-05T06:07:08.000Z",
			attempts: 1,
		};
		const daemon = await startFakeDaemon({
			"GET /api/v1/inbox": () => ({
				messages: [
					{ ...message, text: "fix the build", phase: "dead", reason: "it was not confirmed" },
				],
			}),
		});
		const ran = await runReeve(["inbox"], { env: daemon.env });
		expect(ran.stdout).toContain("(it was not confirmed) fix the build");
	});

	test("usage claims nothing about days that are no longer kept (S19)", async () => {
		const daemon = await startFakeDaemon({
			"GET /api/v1/usage": () => ({ today: "2031-04-05", days: [], accounts: [], budgets: [] }),
		});
		const { stderr } = await runReeve(["usage", "--since", "400d"], { env: daemon.env });
		expect(stderr).toContain("usage is kept for 31 days: days before that are missing");
		expect(stderr).toContain("no usage since 2031-03-06");
	});

	test("send types an argument exactly as it is", async () => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/agents/:id/send": (_, { text }) => ({ bytes: Buffer.byteLength(text) }),
		});
		const text = `fix *the* "bug" in $HOME; für 'uns'`;
		const ran = await runReeve(["send", "web:coder", text], { env: daemon.env });
		expect(ran.stdout).toBe(`web:coder: sent ${Buffer.byteLength(text)} bytes, and Enter\n`);
		expect(daemon.calls.at(-1)?.body).toEqual({ text, submit: true });
	});

	test.each([
		["running", "up", false, "delivered when the agent is ready"],
		[
			"stopped",
			"down",
			false,
			"the agent is stopped, so the message is queued until `reeve up web:coder`",
		],
		["stopped", "up", false, "`reeve explain web:coder` shows why"],
		["stopped", "up", true, "the agent is hibernated and starts again to receive it"],
	] as const)(
		"send reports when a message will be typed: %s, to be %s, hibernated: %s",
		async (process, desired, hibernated, said) => {
			const reply = { bytes: 2, message: "m1", process, desired, hibernated };
			const daemon = await startFakeDaemon({ "POST /api/v1/agents/:id/send": () => reply });
			const ran = await runReeve(["send", "web:coder", "hi"], { env: daemon.env });
			expect(ran.stdout).toContain(said);
		},
	);

	test.each([
		["from stdin, without the newline that ends it", [], "a\nb\n", { text: "a\nb", submit: true }],
		["from stdin, asked for by a dash", ["-"], "hi\r\n", { text: "hi", submit: true }],
		["from stdin exactly, without Enter", ["--no-submit"], "hi\n", { text: "hi\n", submit: false }],
		["Enter alone", [""], "", { text: "", submit: true }],
	])("send %s", async (_, args, input, body) => {
		const daemon = await startFakeDaemon({
			"POST /api/v1/agents/:id/send": () => ({ bytes: 2 }),
		});
		const ran = await runReeve(["send", "web:coder", ...args, "--json"], {
			env: daemon.env,
			input,
		});
		expect([ran.code, ran.stderr]).toEqual([0, ""]);
		expect(JSON.parse(ran.stdout)).toEqual({ id: "web:coder", bytes: 2, submitted: body.submit });
		expect(daemon.calls.at(-1)?.body).toEqual(body);
	});

	test.each([
		["nothing without Enter", ["--no-submit"], "", "the message is empty"],
		["what is no text", [], Uint8Array.of(0xff, 0xfe), "not valid UTF-8"],
		["too much", [], "x".repeat(1_048_577), "larger than 1MiB"],
	])("send refuses %s", async (_, args, input, message) => {
		const ran = await runReeve(["send", "web:coder", ...args], { input });
		expect([ran.code, ran.stdout]).toEqual([2, ""]);
		expect(ran.stderr).toContain(message);
	});
});
