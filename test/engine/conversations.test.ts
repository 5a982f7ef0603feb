import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

let world: DaemonWorld;
let sessions: ScriptedSessions;
const ONE = fleetOf("a: { command: [x] }");

beforeEach(async () => {
	sessions = createScriptedSessions();
	const conversation = {
		...PLAIN_PROFILE.conversation,
		id: "chosen",
		gone: ["not found"],
	} as const;
	sessions.profile = { ...PLAIN_PROFILE, conversation };
	world = await createDaemonWorld(undefined, undefined, sessions);
});

const conversations = () =>
	world.store.events.flatMap((event) =>
		event.type === "agent.conversation" ? [`${event.data.mode} ${event.data.conversation}`] : [],
	);
const startedWithContinue = () =>
	world.store.events.flatMap((event) =>
		event.type === "agent.started" ? [event.data.with_continue] : [],
	);
const types = () => world.store.events.map(({ type }) => type);

async function up(): Promise<void> {
	const started = world.engine.up(ONE, "*");
	await world.pass(1_000);
	await started;
}

describe("an agent's conversation", () => {
	test("is taken up again after a crash, and after the death of the daemon", async () => {
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, { livesMs: 60_000, code: 3 }, {});
		await up();
		await world.pass(63_000);
		await world.killAndRestart(70_000);
		await world.pass(5_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "resume c1"]);
		expect(startedWithContinue()).toEqual([false, true, true]);
		expect(world.engine.get("p:a").agent.conversation).toBe("c1");
	});

	test("that is not told yet is known by the record that its process holds open", async () => {
		const conversation = { ...PLAIN_PROFILE.conversation, id: "told", heldOpen: true } as const;
		const screen = { ready: ["^>"], busy: [], waitingInput: [], rateLimited: [], dialogs: [] };
		sessions.profile = { ...PLAIN_PROFILE, conversation, screen };
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, {});
		await up();
		world.backend.show(world.engine.get("p:a").run?.runId ?? "", ">");
		await world.pass(5_000);
		expect(world.engine.get("p:a").agent.conversation ?? null).toBeNull();
		sessions.open = "x1";
		world.backend.show(world.engine.get("p:a").run?.runId ?? "", "> asked");
		await world.pass(5_000);
		expect(world.engine.get("p:a").agent.conversation).toBe("x1");
		sessions.open = null;
		await world.pass(60_000);
		expect(conversations()).toEqual(["fresh null", "resume x1"]);
	});

	test("is begun anew by `restart --fresh`", async () => {
		await up();
		const restarted = world.engine.restart("*", { fresh: true });
		await world.pass(1_000);
		await restarted;
		expect(conversations()).toEqual(["fresh c1", "fresh c2"]);
	});

	test("that is not there is given up once, with an event, and a new one is begun", async () => {
		const crash = { livesMs: 60_000, code: 3 };
		world.backend.script("p:a", crash, { livesMs: 300, code: 1 }, {});
		await up();
		sessions.words = "conversation c1 not found";
		await world.pass(70_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "fresh c3"]);
		expect(types().filter((type) => type === "agent.conversation_lost")).toHaveLength(1);
		expect(world.engine.get("p:a")).toMatchObject({ process: "running" });
	});

	test("that is not there halts nobody, also where the exit code would mean a wrong setting", async () => {
		const exits = { codes: [{ code: 42, cause: "config" }], zeroLies: false, texts: [] } as const;
		sessions.profile = { ...sessions.profile, exits };
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, { livesMs: 300, code: 42 }, {});
		await up();
		sessions.words = "Error: session c1 not found";
		await world.pass(70_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "fresh c3"]);
		expect(world.engine.get("p:a")).toMatchObject({ process: "running" });
	});

	test("is kept when a start that takes it up fails for another reason", async () => {
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, { livesMs: 300, code: 1 }, {});
		await up();
		sessions.words = "the disk is full";
		await world.pass(70_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "resume c1"]);
		expect(types()).not.toContain("agent.conversation_lost");
	});
});

describe("a conversation that somebody else holds", () => {
	test("keeps the agent from starting, and is waited for without counting as a crash", async () => {
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, {});
		await up();
		await world.pass(61_000);
		sessions.held.set("scripted/c1", "another daemon");
		await world.pass(30_000);
		const { agent, process } = world.engine.get("p:a");
		expect(process).toBe("stopped");
		expect(agent.crash.policy).toBe("healthy");
		expect(agent.reason).toContain("held by another daemon");
		sessions.held.delete("scripted/c1");
		await world.pass(300_000);
		expect(world.engine.get("p:a").process).toBe("running");
		expect(world.backend.started).toHaveLength(2);
	});

	test("is given back when the run ends", async () => {
		await up();
		expect([...sessions.held.keys()]).toEqual(["scripted/c1"]);
		const down = world.engine.down("*");
		await world.pass(1_000);
		await down;
		expect([...sessions.held.keys()]).toEqual([]);
	});

	test("ends an agent that finds it taken from it", async () => {
		await up();
		sessions.held.delete("scripted/c1");
		await world.killAndRestart(1_000);
		await world.pass(20_000);
		expect(types()).toContain("agent.drained");
		expect(world.backend.started).toHaveLength(2);
	});
});
