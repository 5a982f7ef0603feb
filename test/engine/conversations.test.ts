import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import type { Backend } from "../../src/ports/backend.js";
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
	test("is resumed after a crash, and after the death of the daemon", async () => {
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, { livesMs: 60_000, code: 3 }, {});
		await up();
		await world.pass(63_000);
		await world.killAndRestart(70_000);
		await world.pass(5_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "resume c1"]);
		expect(startedWithContinue()).toEqual([false, true, true]);
		expect(world.engine.get("p:a").agent.conversation).toBe("c1");
	});

	test("that is resumed gets messages once it is loaded, or after a while", async () => {
		const screen = { ready: ["^>$"], busy: [], waitingInput: [], rateLimited: [], dialogs: [] };
		const { conversation } = sessions.profile;
		const known = { ...screen, resumed: ["^user: "] };
		sessions.profile = { ...PLAIN_PROFILE, conversation, confirmsPrompts: true, screen: known };
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, { livesMs: 60_000, code: 3 }, {});
		const runId = () => world.engine.get("p:a").run?.runId ?? "";
		const typed = () => Buffer.from(world.backend.typed(runId())).toString();
		await up();
		await world.pass(64_000);
		await world.engine.inbox.accept("p:a", "go on");
		const second = runId();
		world.backend.show(second, "Loading\n>");
		await world.pass(5_000);
		expect(typed()).toBe("");
		world.backend.show(runId(), "user: hello\n>");
		await world.pass(1_500);
		expect(typed()).toContain("go on");
		await world.pass(70_000);
		expect(runId()).not.toBe(second);
		await world.engine.inbox.accept("p:a", "more");
		world.backend.show(runId(), "an answer that fills the screen\n>");
		await world.pass(5_000);
		expect(typed()).toBe("");
		for (let n = 0; n < 10; n++) await world.pass(1_000);
		expect(typed()).toContain("more");
	});

	test("that is not reported yet is known by the transcript that its process has open", async () => {
		const conversation = { ...PLAIN_PROFILE.conversation, id: "reported", heldOpen: true } as const;
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

	test("is released when a start is found to be lost", async () => {
		const client = Object.getPrototypeOf(world.backend) as Pick<Backend, "start">;
		const { start } = client;
		onTestFinished(() => {
			client.start = start;
		});
		let starts = 0;
		client.start = function (this: Backend, request) {
			starts += 1;
			return starts === 1 ? Promise.reject(new Error("lost")) : start.call(this, request);
		};
		await up();
		await world.pass(30_000);
		expect(starts).toBe(2);
		expect(world.engine.get("p:a").process).toBe("running");
		expect(types()).not.toContain("agent.exited");
	});

	test("is replaced by `restart --fresh`", async () => {
		await up();
		const restarted = world.engine.restart("*", { fresh: true });
		await world.pass(1_000);
		await restarted;
		expect(conversations()).toEqual(["fresh c1", "fresh c2"]);
	});

	test("that does not exist is abandoned once, with an event, and a new one is started", async () => {
		const crash = { livesMs: 60_000, code: 3 };
		world.backend.script("p:a", crash, { livesMs: 300, code: 1 }, {});
		await up();
		sessions.words = "conversation c1 not found";
		await world.pass(70_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "fresh c3"]);
		expect(types().filter((type) => type === "agent.conversation_lost")).toHaveLength(1);
		expect(world.engine.get("p:a")).toMatchObject({ process: "running" });
	});

	test("that does not exist halts no agent, even if the exit code would mean a wrong setting", async () => {
		const exits = { codes: [{ code: 42, cause: "config" }], texts: [] } as const;
		sessions.profile = { ...sessions.profile, exits };
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, { livesMs: 300, code: 42 }, {});
		await up();
		sessions.words = "Error: session c1 not found";
		await world.pass(70_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "fresh c3"]);
		expect(world.engine.get("p:a")).toMatchObject({ process: "running" });
	});

	test("is kept when a start that resumes it fails for another reason", async () => {
		world.backend.script("p:a", { livesMs: 60_000, code: 3 }, { livesMs: 300, code: 1 }, {});
		await up();
		sessions.words = "the disk is full";
		await world.pass(70_000);
		expect(conversations()).toEqual(["fresh c1", "resume c1", "resume c1"]);
		expect(types()).not.toContain("agent.conversation_lost");
	});
});

describe("a conversation with another holder", () => {
	test("is also the last one of a folder in which another agent runs", async () => {
		const { conversation } = PLAIN_PROFILE;
		sessions.profile = { ...PLAIN_PROFILE, conversation: { ...conversation, id: "last" } };
		const fleet = fleetOf("a: { command: [x], cwd: /w }\nb: { command: [x], cwd: /w }");
		const started = world.engine.up(fleet, "p:a");
		await world.pass(250);
		await started;
		void world.engine.up(fleet, "p:b").catch(() => {});
		await world.pass(10_000);
		expect(world.engine.get("p:a").process).toBe("running");
		expect(world.engine.get("p:b").process).toBe("stopped");
		expect(world.engine.get("p:b").agent.reason).toContain("conversation scripted//w is held");
	});

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

	test("is released when the run ends", async () => {
		await up();
		expect([...sessions.held.keys()]).toEqual(["scripted/c1"]);
		const down = world.engine.down("*");
		await world.pass(1_000);
		await down;
		expect([...sessions.held.keys()]).toEqual([]);
	});

	test("stops an agent that has lost it", async () => {
		await up();
		sessions.held.delete("scripted/c1");
		await world.killAndRestart(1_000);
		await world.pass(20_000);
		expect(types()).toContain("agent.drained");
		expect(world.backend.started).toHaveLength(2);
	});
});
