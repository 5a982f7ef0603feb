/**
 * Every cause of an end, for agents of several kinds, and the reaction to it. All of them end at the
 * same time under one daemon.
 */

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXIT_CAUSES, type ExitCause } from "../../../src/core/exit.js";
import { describeLimits } from "../../../src/host/cgroup.js";
import { readProcessTable } from "../../../src/host/process-table.js";
import { createMatrixFleet, type MatrixAgent, type MatrixFleet, until } from "./matrix-fleet.js";

type Follows = "restarts" | "parks" | "halts" | "backs off" | "asks the operator" | "stays down";

interface Row {
	readonly title: string;
	readonly cause: ExitCause;
	readonly follows: Follows;
	/** In the reason that the operator sees. */
	readonly says?: RegExp;
	readonly agent: (name: string, folder: string) => MatrixAgent;
	/** The action that ends it, if it does not exit itself. */
	readonly end?: (name: string) => Promise<unknown>;
}

let fleet: MatrixFleet;

/** Gets a prompt at every start, and this turn at the first start. */
const inTurn =
	(adapter: string, turn: object, more: object = {}) =>
	(name: string, folder: string) => {
		const first = { ...turn, times: 1, counted_in: join(folder, `${name}.turns`) };
		return { adapter, args: ["go on"], script: { turns: [first] }, ...more };
	};
const atStart =
	(adapter: string, prints: string, exit_code: number, more: object = {}) =>
	() => ({
		adapter,
		script: { start: { prints: `${prints}\r\n`, exit_code } },
		...more,
	});
const kill = (signal: NodeJS.Signals) => async (name: string) => {
	await fleet.isReady(name);
	process.kill(await fleet.pidOf(name), signal);
};
/** Draws gemini's screen and exits like gemini: with 0 after every signal. */
const idleGemini = () => ({
	adapter: "gemini",
	script: { ready_text: "Type your message ", on_sigterm: 0, on_sighup: 0 },
});
const limitEndsAt = { text: "You've hit your session limit · resets {at}", resets_in: "1h" };

const ROWS: readonly Row[] = [
	{
		...{ title: "claude that leaves after its work", cause: "completed" },
		...{ follows: "asks the operator", agent: inTurn("claude", { exit_code: 0 }) },
	},
	{
		...{ title: "claude that leaves and is to stay down then", cause: "completed" },
		follows: "stays down",
		agent: inTurn("claude", { exit_code: 0 }, { on_clean_exit: "stop" }),
	},
	{
		...{ title: "claude that dies of a fault in memory", cause: "crash", follows: "restarts" },
		agent: inTurn("claude", { dies_by: "SIGSEGV" }),
	},
	{
		...{ title: "claude that exits with 3 in a turn", cause: "crash", follows: "restarts" },
		agent: inTurn("claude", { exit_code: 3 }),
	},
	{
		...{ title: "claude that leaves at a limit", cause: "usage_limit", follows: "parks" },
		agent: inTurn("claude", { limit: { ...limitEndsAt, exit_code: 1 } }),
	},
	{
		...{ title: "claude whose login is refused", cause: "auth", follows: "halts" },
		...{ says: /401/, agent: inTurn("claude", { fails: { status: 401, exit_code: 1 } }) },
	},
	{
		...{ title: "claude whose service is overloaded", cause: "overloaded", follows: "backs off" },
		agent: inTurn("claude", { fails: { status: 529, message: "Overloaded", exit_code: 1 } }),
	},
	{
		...{ title: "claude that only prints why", cause: "crash", follows: "restarts" },
		says: /its last output mentions: .*Correct the agent's `args`/,
		agent: atStart("claude", "error: unknown option '--modle'", 1),
	},
	{
		...{ title: "claude that hangs before it is ready", cause: "start_timeout" },
		...{ follows: "restarts", says: /not ready/ },
		agent: () => ({
			...{ adapter: "claude", script: { start: { hangs: true } }, start_timeout: "3s" },
		}),
	},
	{
		...{ title: "claude whose health check fails", cause: "unhealthy" },
		...{ follows: "restarts", says: /its health check failed 2 times in a row: exit code 1/ },
		agent: () => ({
			...{ adapter: "claude" },
			health: { command: ["false"], every: "500ms", failures: 2, action: "restart" },
		}),
	},
	{
		...{ title: "claude that is taken down", cause: "requested", follows: "stays down" },
		agent: () => ({ adapter: "claude" }),
		end: async (name) => {
			await fleet.isReady(name);
			expect(await fleet.down(name)).toBe("graceful");
		},
	},
	{
		...{ title: "claude that needs too much memory", cause: "out_of_memory", follows: "restarts" },
		says: /out of memory, 1 of 5/,
		agent: inTurn(
			"claude",
			{ eats_memory: true },
			{ limits: { memory: "200MiB" }, crash_policy: { flapping_delay: "100ms" } },
		),
	},
	{
		...{ title: "a program that is not installed", cause: "spawn_error", follows: "halts" },
		says: /program `no-such-program` not found on the agent's PATH: install it/,
		agent: () => ({ adapter: "claude", command: ["no-such-program"] }),
	},
	{
		...{ title: "a program without known behaviour", cause: "crash", follows: "restarts" },
		agent: inTurn("generic", { exit_code: 7 }),
	},
	{
		...{ title: "codex that dies by a signal", cause: "crash", follows: "restarts" },
		agent: inTurn("codex", { dies_by: "SIGABRT" }),
	},
	{
		...{ title: "codex that only prints why", cause: "crash", follows: "restarts" },
		says: /its last output mentions: .*config\.toml/,
		agent: atStart("codex", "Error loading config.toml: invalid type", 1),
	},
	{
		...{ title: "codex that only prints a limit", cause: "crash", follows: "restarts" },
		agent: atStart("codex", "You've hit your usage limit. Try again in 3 hours.", 1),
	},
	{
		...{ title: "gemini with its code for the login", cause: "auth", follows: "halts" },
		...{ says: /exit code 41/, agent: atStart("gemini", "Invalid auth method selected.", 41) },
	},
	{
		...{ title: "gemini with its code for settings", cause: "config", follows: "halts" },
		...{ says: /exit code 52/, agent: atStart("gemini", "it is broken", 52) },
	},
	{
		...{ title: "gemini with 429 modulo 256", cause: "usage_limit", follows: "parks" },
		agent: atStart("gemini", "got status: 429 Too Many Requests", 173),
	},
	{
		...{ title: "gemini that is terminated by SIGTERM from outside", cause: "completed" },
		...{ follows: "asks the operator", agent: idleGemini, end: kill("SIGTERM") },
	},
	{
		...{ title: "gemini that is taken down, with 0 too", cause: "requested" },
		...{ follows: "stays down", agent: idleGemini },
		end: async (name) => {
			await fleet.isReady(name);
			expect(await fleet.down(name)).toBe("graceful");
		},
	},
	{
		...{ title: "gemini that is killed", cause: "crash", follows: "restarts" },
		...{ agent: idleGemini, end: kill("SIGKILL") },
	},
	{
		...{ title: "pi with 0 that prints a failure", cause: "completed" },
		...{ follows: "asks the operator", agent: atStart("pi", "529 Overloaded", 0) },
	},
	{
		...{ title: "pi with 0 after its work", cause: "completed", follows: "asks the operator" },
		agent: inTurn("pi", { exit_code: 0 }),
	},
];

/** A host that cannot limit memory has no out-of-memory kills. */
const memory = describeLimits().find(({ name }) => name === "memory");
const isPossible = ({ cause }: Row) => cause !== "out_of_memory" || memory?.available === true;
const named = ROWS.map((row, n) => ({ ...row, name: `a${n}` }));

describe("an end", () => {
	beforeAll(async () => {
		const possible = named.filter(isPossible);
		fleet = createMatrixFleet((folder) =>
			Object.fromEntries(possible.map(({ name, agent }) => [name, agent(name, folder)])),
		);
		await fleet.up();
		await Promise.all(possible.map(({ name, end }) => end?.(name)));
	}, 120_000);
	afterAll(() => fleet.close(), 60_000);

	for (const row of named) {
		const { name, title, cause, follows, says = /./ } = row;
		const may = { skip: !isPossible(row), meta: { skipReason: memory?.reason ?? "" } };
		test(`of ${title}: ${cause}, ${follows}`, may, async () => {
			const decisions = () => fleet.data(name, "agent.decided");
			await until(async () => (await decisions()).length > 0, `an end of ${title}`);
			const [exited] = await fleet.data(name, "agent.exited");
			const [decided] = await decisions();
			expect(exited).toMatchObject({ cause });
			expect(decided?.reason).toMatch(says);
			await FOLLOWS[follows](name, decided?.reason ?? "");
		});
	}

	test("has every cause there is, except that of an exit whose status was lost", () => {
		const known = EXIT_CAUSES.filter((cause) => cause !== "unknown");
		expect(new Set(ROWS.map(({ cause }) => cause))).toEqual(new Set(known));
	});

	test("counts against the crash budget only as a crash, or with an unknown cause", async () => {
		for (const { name, cause, title } of named.filter(isPossible)) {
			const { state } = (await fleet.detail(name)).crash;
			const spends = ["crash", "unknown", "start_timeout", "unhealthy"].includes(cause);
			expect(state.budget_spent_at.length > 0, title).toBe(spends);
		}
	});

	test("that was not observed is `unknown`, counts, and is followed by a start", async () => {
		const idle = named.find(({ title }) => title === "gemini that is killed")?.name ?? "";
		await fleet.isReady(idle);
		const starts = await startsOf(idle);
		const holder = parentOf(await fleet.pidOf(idle));
		expect(holder).toBeGreaterThan(1);
		await fleet.killDaemon();
		process.kill(holder, "SIGKILL");
		await fleet.must("daemon", "start");
		await until(async () => (await startsOf(idle)) > starts, "it is started again");
		expect((await fleet.data(idle, "agent.exited")).at(-1)).toMatchObject({
			...{ cause: "unknown", kind: "failed", code: null, signal: null },
		});
	});
});

/** The process that owns its terminal, and would have recorded its exit. */
function parentOf(pid: number): number {
	const found = readProcessTable().entries.find((each) => each.pid === pid);
	if (found === undefined) throw new Error(`no process ${pid}`);
	return found.ppid;
}

const startsOf = async (name: string) => (await fleet.data(name, "agent.started")).length;
const actionOf = async (name: string) => (await fleet.data(name, "agent.decided"))[0]?.action;
const startsAgain = (name: string) =>
	until(async () => (await startsOf(name)) >= 2, `${name} is started again`);

const FOLLOWS: Readonly<Record<Follows, (name: string, reason: string) => Promise<void>>> = {
	async restarts(name) {
		expect(await actionOf(name)).toBe("restart");
		await startsAgain(name);
	},
	async "backs off"(name, reason) {
		expect(reason).toContain("backing off, not counted");
		await startsAgain(name);
	},
	async parks(name) {
		expect(await actionOf(name)).toBe("park");
		const agent = await fleet.agent(name);
		expect(agent).toMatchObject({ pid: null, policy: "healthy", desired: "up" });
		expect(Date.parse(agent.next_restart_at ?? "")).toBeGreaterThan(Date.now());
		expect(await startsOf(name)).toBe(1);
	},
	async halts(name) {
		expect(await actionOf(name)).toBe("halt");
		expect(await fleet.agent(name)).toMatchObject({ policy: "halted", pid: null });
		expect(await startsOf(name)).toBeLessThanOrEqual(1);
	},
	async "asks the operator"(name) {
		expect(await fleet.agent(name)).toMatchObject({ waiting: true, pid: null, policy: "healthy" });
		expect(await startsOf(name)).toBe(1);
	},
	async "stays down"(name) {
		expect(await fleet.agent(name)).toMatchObject({ waiting: false, pid: null, policy: "healthy" });
		expect(await startsOf(name)).toBe(1);
	},
};
