import { beforeEach, describe, expect, test } from "vitest";
import type { AgentSpec } from "../../src/config/spec.js";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { noticeOf } from "../../src/core/notice.js";
import type { Outcome } from "../../src/core/outcome.js";
import { SERVICE_TEXTS } from "../../src/core/service-errors.js";
import type { AgentSign } from "../../src/core/sign.js";
import type { Executor } from "../../src/ports/executor.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

const HOUR_MS = 3_600_000;
const FIVE = ["a", "b", "c", "d", "e"];
const LIMIT = { livesMs: 2_000, code: 1 };

let world: DaemonWorld;
let sessions: ScriptedSessions;

beforeEach(async () => {
	sessions = createScriptedSessions();
	const codes = [{ code: 1, cause: "usage_limit" }] as const;
	const exits = { codes, texts: SERVICE_TEXTS };
	sessions.profile = { ...PLAIN_PROFILE, exits };
	sessions.words = "You've hit your limit, try again in 3 hours";
	world = await createDaemonWorld(undefined, undefined, sessions);
	sessions.nowMs = () => world.clock.now().wallMs;
});

async function up(more = ""): Promise<void> {
	const lines = FIVE.map((name) => `${name}: { command: [x], account: work${more} }`);
	const started = world.engine.up(fleetOf(lines.join("\n")), "*");
	await world.pass(1_000);
	await started;
}

/** Passes time in steps that are small against what is measured here. */
async function passFinely(ms: number): Promise<void> {
	for (let left = ms; left > 0; left -= 1_000) await world.pass(Math.min(left, 1_000));
}

/** All five run into the limit; what they do after that is scripted. */
async function meetLimit(more = "", ...then: readonly Partial<typeof LIMIT>[]): Promise<void> {
	for (const name of FIVE) world.backend.script(`p:${name}`, LIMIT, ...then, {});
	await up(more);
	await passFinely(4_000);
	expect(running()).toEqual([]);
	expect(starts()).toBe(5);
}

const view = (name: string) => world.engine.get(`p:${name}`);
const running = () => FIVE.filter((name) => view(name).process === "running");
const starts = () => world.backend.started.length;
const untilReset = () => (view("a").nextStartAtMs ?? 0) - world.clock.now().wallMs;
const news = () =>
	world.store.events.map(({ type }) => type).filter((type) => type.startsWith("account."));

describe("five agents on one account that has hit its limit", () => {
	test("send one probe each time, also when the limit moves later twice, and then follow one by one", async () => {
		// The probe hits the limit again, twice; no other agent is tried.
		await meetLimit("", LIMIT, LIMIT);
		for (const probes of [1, 2]) {
			await world.pass(untilReset() - 60_000);
			expect(starts()).toBe(4 + probes);
			await passFinely(70_000);
			expect(starts(), "one probe, no stampede").toBe(5 + probes);
			expect(running()).toEqual([]);
			expect(untilReset()).toBeGreaterThan(2.9 * HOUR_MS);
		}
		// The third time the probe succeeds.
		await world.pass(untilReset() - 1_000);
		for (const name of FIVE) world.backend.script(`p:${name}`, {});
		await passFinely(50_000);
		expect(running()).toHaveLength(1);
		await passFinely(20_000);
		expect(running().length).toBeLessThanOrEqual(3);
		await passFinely(25_000);
		expect(running()).toEqual(FIVE);
		expect(starts()).toBe(5 + 2 + 5);
		const probing = ["account.limited", "account.probing"];
		expect(news().filter((type, n) => type !== news()[n - 1])).toEqual([
			...[...probing, ...probing, ...probing],
			"account.released",
		]);
		for (const name of FIVE) {
			const { policy, flaps, budgetSpentAt } = view(name).agent.crash;
			expect([policy, flaps, budgetSpentAt]).toEqual(["healthy", 0, []]);
		}
		expect(world.errors).toEqual([]);
	});

	test.each<[string, string, number | null]>([
		["the end of the limit", "", 3 * HOUR_MS],
		// It is 22:13 on the clock of this world.
		["the end of the quiet hours", ", usage_limit: { quiet_hours: 22:00-06:00 }", 7.78 * HOUR_MS],
		["the operator alone", ", usage_limit: { auto_resume: false }", null],
		["the operator, after max_wait", ", usage_limit: { max_wait: 1h }", null],
	])("record and show the wait that follows: %s", async (_, more, expectedMs) => {
		await meetLimit(more);
		for (const name of FIVE) {
			const decided = world.store.events.find(
				(event) => event.type === "agent.decided" && event.agent === `p:${name}`,
			);
			if (decided?.type !== "agent.decided") throw new Error("nothing was decided");
			const { action, after_ms: afterMs, reason } = decided.data;
			const untilMs = view(name).nextStartAtMs;
			expect(action).toBe("park");
			if (expectedMs === null) {
				expect([afterMs, untilMs]).toEqual([null, null]);
				expect(reason).toContain("run `reeve resume`");
			} else {
				expect(Math.abs((afterMs ?? 0) - expectedMs)).toBeLessThan(60_000);
				expect(Date.parse(decided.at) + (afterMs ?? 0)).toBe(untilMs);
				expect(reason).toContain(new Date(untilMs ?? 0).toISOString());
			}
			expect(view(name).lastExit?.reason).toBe(reason);
		}
	});

	test("are reported once, with the time at which they continue", async () => {
		await meetLimit();
		const notices = world.store.events.map(noticeOf).filter((each) => each?.kind === "usage_limit");
		expect(notices).toMatchObject([{ text: expect.stringMatching(/until \d{4}-\d\d-\d\dT/) }]);
	});

	test("keep waiting under the next daemon, and start no sooner", async () => {
		await meetLimit();
		await world.killAndRestart(HOUR_MS);
		await world.pass(1.8 * HOUR_MS);
		expect(starts()).toBe(5);
		await world.killAndRestart(HOUR_MS);
		await passFinely(10_000);
		expect(running()).toHaveLength(1);
		await world.killAndRestart(1_000);
		await passFinely(10_000);
		expect(running(), "the probe is still the only one").toHaveLength(1);
		await passFinely(90_000);
		expect(running()).toEqual(FIVE);
	});

	test("are shown as parked, with the time", async () => {
		await meetLimit();
		const until = new Date(view("c").nextStartAtMs ?? 0).toISOString();
		expect(view("c")).toMatchObject({ process: "stopped" });
		expect(view("c").hold?.reason).toBe(
			`waits for account work, usage limit, parked until it lifts (${until})`,
		);
	});

	test("park an agent that is started meanwhile as well, and affect no other account", async () => {
		await meetLimit();
		const file = "f: { command: [x], account: work }\ng: { command: [x] }";
		const started = world.engine.up({ ...fleetOf(file), file: "other.yaml" }, "*");
		await world.pass(2_000);
		expect(await started).toMatchObject([
			{ id: "p:f", outcome: "waiting" },
			{ id: "p:g", outcome: "started" },
		]);
	});

	test("continue when the operator resumes one of them, which is the probe", async () => {
		await meetLimit(", usage_limit: { auto_resume: false }");
		await world.pass(30 * HOUR_MS);
		expect(starts()).toBe(5);
		expect(view("b").hold).toMatchObject({ untilMs: null });
		const resumed = world.engine.resume("p:b");
		await passFinely(5_000);
		expect(await resumed).toMatchObject({ from: "healthy", released: ["account"] });
		expect(running()).toEqual(["b"]);
		await passFinely(90_000);
		expect(running()).toEqual(FIVE);
	});

	test("send another probe when the first is taken down", async () => {
		await meetLimit();
		await world.pass(untilReset());
		await passFinely(5_000);
		const [first = ""] = running();
		const stopped = world.engine.down(`p:${first}`);
		await passFinely(5_000);
		await stopped;
		expect(running()).toHaveLength(1);
		expect(running()).not.toEqual([first]);
	});

	test("stay down during quiet hours", async () => {
		// The clock of this world shows 22:13; the limit lifts at 01:13.
		await meetLimit(', usage_limit: { quiet_hours: "00:00-07:00" }');
		expect(new Date(view("a").nextStartAtMs ?? 0).toISOString()).toMatch(/07:00:00/);
		await world.pass(untilReset() - 60_000);
		expect(starts()).toBe(5);
		await passFinely(70_000);
		expect(starts()).toBe(6);
	});

	test("are not waited for longer than max_wait", async () => {
		await meetLimit(", usage_limit: { max_wait: 2h }");
		expect(view("a").hold).toMatchObject({ untilMs: null });
		expect(view("a").hold?.reason).toContain(
			"longer than max_wait (2h): run `reeve resume` to continue",
		);
		await world.pass(10 * HOUR_MS);
		expect(starts()).toBe(5);
	});
});

describe("running agents during a limit", () => {
	const screen = {
		...{ ready: ["^❯$"], busy: [], waitingInput: ["^1\\."], dialogs: [] },
		rateLimited: ["hit your limit"],
	};
	const show = (name: string, text: string) =>
		world.backend.show(view(name).run?.runId ?? "", text);
	const typed = (name: string) =>
		Buffer.from(world.backend.typed(view(name).run?.runId ?? "")).toString();
	const reportSign = (about: Partial<AgentSign>, only: string) => {
		const sign = { source: "hook", name: "Stop", atMs: world.clock.now().wallMs } as const;
		reported.push([only, { ...sign, activity: "ready", ...about }]);
	};
	let reported: [string, AgentSign][];

	beforeEach(async () => {
		reported = [];
		sessions.profile = { ...sessions.profile, screen };
		Object.assign(sessions, {
			signs: async ({ name }: AgentSpec) =>
				reported.filter(([who]) => who === name).map(([, sign]) => sign),
		});
		await up();
		for (const name of FIVE) show(name, "❯");
		await passFinely(2_000);
		const resetAtMs = world.clock.now().wallMs + HOUR_MS;
		reportSign({ failure: { cause: "usage_limit", resetAtMs } }, "c");
		// The text stays on its screen until other output scrolls it away.
		show("c", "You've hit your limit\n❯");
		await passFinely(3_000);
		for (const name of FIVE) await world.engine.inbox.accept(`p:${name}`, "go on");
		await passFinely(10_000);
	});

	test("get no input until it lifts; then one does, and the others after its turn succeeded", async () => {
		expect(news()).toEqual(["account.limited"]);
		await world.pass(HOUR_MS - 60_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toEqual([]);
		await passFinely(65_000);
		const [probe = "", ...more] = FIVE.filter((name) => typed(name) !== "");
		expect([probe === "", more]).toEqual([false, []]);
		reportSign({ failure: null }, probe);
		await passFinely(8_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toHaveLength(2);
		await passFinely(25_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toEqual(FIVE);
		expect(news()).toEqual(["account.limited", "account.probing", "account.released"]);
	});

	test("that only show a limit get messages afterwards, unless a question is on the screen too", async () => {
		reported = [];
		await passFinely(HOUR_MS + 600_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toEqual(FIVE);
		const before = typed("c");
		show("c", "You've hit your limit\n1. Wait\n2. Pay");
		await world.engine.inbox.accept("p:c", "go on");
		await passFinely(60_000);
		expect(typed("c")).toBe(before);
		show("c", "You've hit your limit\n❯");
		await passFinely(60_000);
		expect(typed("c")).not.toBe(before);
	});

	test("get their messages one by one when the operator ends the wait, starting with the agent that hit the limit first", async () => {
		await world.engine.resume("p:c");
		await passFinely(5_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toEqual(["c"]);
		reportSign({ failure: null }, "c");
		await passFinely(30_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toEqual(FIVE);
	});

	test("are free after that for a later daemon too, which reads the old turn again", async () => {
		await world.engine.resume("p:a");
		await passFinely(5_000);
		reportSign({ failure: null }, "a");
		await passFinely(40_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toEqual(FIVE);
		await world.killAndRestart(1_000);
		await passFinely(5_000);
		expect(FIVE.map((name) => view(name).hold)).toEqual(FIVE.map(() => null));
		const resetAtMs = world.clock.now().wallMs + HOUR_MS;
		reportSign({ failure: { cause: "usage_limit", resetAtMs } }, "c");
		await passFinely(3_000);
		expect(view("a").hold?.untilMs).toBeGreaterThan(resetAtMs - 1);
	});

	test("all stay parked when the turn of the probe hits the limit again", async () => {
		await world.pass(HOUR_MS - 20_000);
		await passFinely(25_000);
		const [probe = ""] = FIVE.filter((name) => typed(name) !== "");
		const resetAtMs = world.clock.now().wallMs + HOUR_MS;
		reportSign({ failure: { cause: "usage_limit", resetAtMs } }, probe);
		await world.killAndRestart(1_000);
		await passFinely(120_000);
		expect(FIVE.filter((name) => typed(name) !== "")).toEqual([probe]);
		expect(news()).toEqual(["account.limited", "account.probing", "account.limited"]);
	});
});

describe("an account with sessions and calls", () => {
	const limit: Outcome = {
		...{ ok: false, error: "usage_limit", reason: "used up", retryAfterMs: HOUR_MS },
	};
	const good: Outcome = { ok: true, result: {} };
	let outcome: Outcome;

	beforeEach(async () => {
		outcome = limit;
		const executor: Executor = {
			call: async () => ({ outcome, log: "" }),
			startWorker: () => Promise.reject(new Error("there are no workers")),
			...{ endLeft: async () => [], close: async () => {} },
		};
		world = await createDaemonWorld(undefined, executor, sessions);
		const agents = [
			"a: { command: [x], account: work }",
			"ask: { kind: call, adapter: claude, account: work }",
			"other: { kind: call, adapter: claude }",
			"tool: { kind: call, command: [x], account: work }",
		];
		await world.engine.reload(fleetOf(agents.join("\n")));
		await passFinely(2_000);
	});

	async function call(name: string): Promise<void> {
		const spec = world.engine.calls.specOf(`p:${name}`);
		if (spec?.kind !== "call") throw new Error("it is not called");
		const request = { request_id: "r", action: "ask" } as never;
		await world.engine.calls.perform(
			{ spec, runId: "r", request, timeoutMs: 1_000 },
			new AbortController().signal,
		);
	}
	const may = (name: string, underWay = 0) => world.engine.calls.mayCall(`p:${name}`, underWay);

	test("is parked by a call that hits the limit, for both; agents without that account continue", async () => {
		await call("ask");
		expect(news()).toEqual(["account.limited"]);
		expect(view("a").hold?.untilMs).toBe(view("ask").hold?.untilMs);
		expect([may("ask"), may("other"), may("tool")]).toEqual([false, true, true]);
	});

	test("is probed by one call at a time, and released for all once that has succeeded", async () => {
		await call("ask");
		await world.pass(HOUR_MS);
		await passFinely(400_000);
		expect([may("ask"), may("ask", 1)]).toEqual([true, false]);
		expect(view("a").hold?.reason).toContain("p:ask is checking");
		outcome = good;
		await call("ask");
		await passFinely(10_000);
		expect([may("ask", 1), view("a").hold]).toEqual([true, null]);
	});

	test("is not held forever by a call that failed for another reason", async () => {
		await call("ask");
		await world.pass(HOUR_MS);
		await passFinely(400_000);
		expect(may("ask")).toBe(true);
		outcome = { ok: false, error: "timeout", reason: "late", retryAfterMs: null };
		await call("ask");
		await passFinely(90_000);
		expect(view("a").hold).toBeNull();
	});

	test("learns of a call's limit also without an account name", async () => {
		await call("other");
		expect(view("other").hold?.reason).toMatch(/^waits for usage limit, parked until it lifts/);
		expect([may("other"), may("ask")]).toEqual([false, true]);
	});
});
