import { beforeEach, expect, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { SERVICE_TEXTS } from "../../src/core/service-errors.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

let world: DaemonWorld;
let sessions: ScriptedSessions;

beforeEach(async () => {
	sessions = createScriptedSessions();
	const codes = [
		{ code: 41, cause: "auth" },
		{ code: 42, cause: "usage_limit" },
		{ code: 43, cause: "overloaded" },
	] as const;
	const exits = { codes, texts: SERVICE_TEXTS };
	const conversation = { ...PLAIN_PROFILE.conversation, id: "reported" } as const;
	sessions.profile = { ...PLAIN_PROFILE, exits, conversation };
	world = await createDaemonWorld(undefined, undefined, sessions);
	sessions.nowMs = () => world.clock.now().wallMs;
});

async function up(): Promise<void> {
	const started = world.engine.up(fleetOf("a: { command: [x] }"), "*");
	await world.pass(1_000);
	await started;
}

const view = () => world.engine.get("p:a");

test("a usage limit parks the agent until it lifts, every time, and never counts as a crash", async () => {
	world.backend.script("p:a", { livesMs: 5_000, code: 42 });
	sessions.words = "You've hit your limit, try again in 3 hours";
	await up();
	for (let n = 1; n <= 8; n++) {
		await world.pass(6_000);
		expect(view()).toMatchObject({ process: "stopped", lastExit: { cause: "usage_limit" } });
		expect(world.backend.started).toHaveLength(n);
		const waitMs = (view().nextStartAtMs ?? 0) - world.clock.now().wallMs;
		expect(waitMs).toBeGreaterThan(2.9 * 3_600_000);
		expect(view().agent.crash).toMatchObject({ policy: "healthy", flaps: 0, budgetSpentAt: [] });
		await world.pass(waitMs);
	}
});

test("an agent that is not logged in is halted at once, with a hint", async () => {
	world.backend.script("p:a", { livesMs: 500, code: 41 });
	sessions.words = "401 Unauthorized";
	await up();
	await world.pass(60_000);
	expect(world.backend.started).toHaveLength(1);
	expect(view().agent.crash.policy).toBe("halted");
	expect(view().agent.reason).toContain("Log in again");
});

test("an overloaded service is waited for with a growing delay that does not count", async () => {
	world.backend.script("p:a", { livesMs: 500, code: 43 });
	sessions.words = "529 Overloaded";
	await up();
	await world.pass(120_000);
	expect(world.backend.started.length).toBeLessThan(8);
	expect(view().agent.crash).toMatchObject({ policy: "healthy", flaps: 0 });
});

test.each(["401 Unauthorized", "429 rate limit, try again in 3 hours", "503 Service Unavailable"])(
	"a conversation that mentions %s decides nothing about an exit",
	async (words) => {
		world.backend.script("p:a", { livesMs: 90_000, code: 143 }, {});
		sessions.words = `The server answered: ${words}`;
		await up();
		await world.pass(95_000);
		expect(view()).toMatchObject({ process: "running", lastExit: { cause: "crash" } });
		expect(view().agent.crash.policy).toBe("healthy");
		expect(world.backend.started).toHaveLength(2);
	},
);

test("reports of the CLI count more than its output", async () => {
	world.backend.script("p:a", { livesMs: 2_500, code: 1 });
	sessions.words = "529 Overloaded";
	await up();
	const { wallMs } = world.clock.now();
	const failure = { cause: "auth", resetAtMs: null } as const;
	sessions.reported = [{ source: "hook", name: "StopFailure", atMs: wallMs + 500, failure }];
	await world.pass(2_000);
	expect(view().lastExit).toMatchObject({ cause: "auth" });
});

test("a conversation that the CLI has reported is resumed by the next run", async () => {
	world.backend.script("p:a", { livesMs: 60_000, code: 1 }, {});
	await up();
	const atMs = world.clock.now().wallMs;
	sessions.reported = [{ source: "hook", name: "notify", atMs, conversation: "thread-7" }];
	await world.pass(64_000);
	expect(view().agent.conversation).toBe("thread-7");
	expect(world.store.events.filter(({ type }) => type === "agent.conversation")).toMatchObject([
		{ data: { mode: "fresh", conversation: null } },
		{ data: { mode: "resume", conversation: "thread-7" } },
	]);
});
