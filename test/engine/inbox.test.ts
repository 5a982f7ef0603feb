import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

let world: DaemonWorld;
let sessions: ScriptedSessions;

beforeEach(async () => {
	sessions = createScriptedSessions();
	sessions.profile = {
		...PLAIN_PROFILE,
		confirmsPrompts: true,
		screen: {
			...{ ready: ["^❯$"], busy: ["esc to interrupt"], waitingInput: ["^❯ \\d"], rateLimited: [] },
			dialogs: [],
		},
	};
	world = await createDaemonWorld(undefined, undefined, sessions);
	const started = world.engine.up(fleetOf("a: { command: [x] }"), "*");
	await world.pass(250);
	await started;
});

const runId = () => world.engine.get("p:a").run?.runId ?? "";
const show = (text: string) => world.backend.show(runId(), text);
const typed = () => Buffer.from(world.backend.typed(runId())).toString();
const types = () =>
	world.store.events.map(({ type }) => type).filter((type) => type.startsWith("inbox"));
const confirm = (prompt: string) =>
	sessions.reported.push({ source: "hook", name: "U", atMs: world.clock.now().wallMs, prompt });
const PASTED = "\u001b[200~go on\u001b[201~";

describe("an accepted message", () => {
	test("is typed when the agent is ready, Enter on its own, and gone once it is confirmed", async () => {
		await world.engine.inbox.accept("p:a", "go on");
		show("esc to interrupt");
		await world.pass(20_000);
		expect(typed()).toBe("");
		show("❯");
		await world.pass(3_000);
		expect(typed()).toBe(`${PASTED}\r`);
		expect(world.engine.inbox.list()).toMatchObject([{ phase: "typed" }]);
		confirm("go on");
		await world.pass(2_000);
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
		expect(world.engine.inbox.list()).toEqual([]);
	});

	test("is never typed into a question", async () => {
		await world.engine.inbox.accept("p:a", "go on");
		show("Run it?\n❯ 1. Yes");
		await world.pass(60_000);
		expect(typed()).toBe("");
		expect(world.engine.inbox.list()).toMatchObject([{ phase: "queued" }]);
	});

	test("is not typed after unsubmitted input of a person", async () => {
		show("❯");
		await world.pass(2_000);
		const viewer = { onSnapshot() {}, onOutput() {}, onClose() {} };
		const person = await world.engine.terminals.attach("p:a", viewer, null);
		person.write(Buffer.from("rm -rf half typed "));
		await world.engine.inbox.accept("p:a", "go on");
		await world.pass(60_000);
		expect(typed()).not.toContain("go on");
		person.write(Buffer.from("\r"));
		person.close();
		await world.pass(6_000);
		expect(typed()).toContain(`${PASTED}\r`);
	});

	test("is typed after a person has answered a question, which leaves nothing in the input", async () => {
		show("Run it?\n❯ 1. Yes");
		await world.engine.inbox.accept("p:a", "go on");
		await world.pass(5_000);
		await world.engine.terminals.input("p:a", Buffer.from("1"));
		show("❯");
		await world.pass(3_000);
		expect(typed()).toBe(`1${PASTED}\r`);
	});

	test("is typed once the person's text was reported as a prompt, however it was submitted", async () => {
		show("❯");
		await world.pass(2_000);
		await world.engine.terminals.input("p:a", Buffer.from("half"));
		await world.engine.inbox.accept("p:a", "go on");
		await world.pass(5_000);
		expect(typed()).toBe("half");
		confirm("half and more");
		await world.pass(10_000);
		expect(typed()).toContain(PASTED);
	});

	test("waits after a turn that failed without a login, until the operator resumes the agent", async () => {
		show("❯");
		const atMs = world.clock.now().wallMs;
		const failure = { cause: "auth", resetAtMs: null } as const;
		sessions.reported.push({
			source: "hook",
			name: "StopFailure",
			activity: "ready",
			atMs,
			failure,
		});
		await world.engine.inbox.accept("p:a", "go on");
		await world.pass(60_000);
		expect(typed()).toBe("");
		expect(await world.engine.resume("p:a")).toMatchObject({ from: "healthy", released: ["turn"] });
		await world.pass(6_000);
		expect(typed()).toBe(`${PASTED}\r`);
	});

	test("waits while something unknown replaces the input", async () => {
		const { screen } = sessions.profile;
		if (screen === null) throw new Error("it has a screen");
		sessions.profile = { ...sessions.profile, screen: { ...screen, questionsReplaceInput: true } };
		await world.killAndRestart(100);
		show("❯");
		await world.pass(2_000);
		show("We are changing how this works. Press any key.");
		await world.engine.inbox.accept("p:a", "go on");
		await world.pass(60_000);
		expect(typed()).toBe("");
		show("❯");
		await world.pass(3_000);
		expect(typed()).toContain(PASTED);
	});

	test("survives the death of the daemon, and is typed once", async () => {
		await world.engine.inbox.accept("p:a", "go on");
		await world.killAndRestart(1_000);
		show("❯");
		await world.pass(3_000);
		await world.killAndRestart(1_000);
		confirm("go on");
		await world.pass(60_000);
		expect(typed()).toBe(`${PASTED}\r`);
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
	});

	test("whose record appears only after the run has ended is not typed into the next", async () => {
		await world.engine.inbox.accept("p:a", "go on");
		show("❯");
		await world.pass(2_500);
		const submittedAtMs = world.clock.now().wallMs;
		const first = runId();
		await world.backend.kill({ runId: first } as never);
		await world.pass(5_000);
		expect(runId()).not.toBe(first);
		sessions.reported.push({ source: "hook", name: "U", atMs: submittedAtMs, prompt: "go on" });
		show("❯");
		await world.pass(60_000);
		expect(typed()).toBe("");
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
	});

	test("that was submitted by a run which then ended is not typed into the next", async () => {
		await world.engine.inbox.accept("p:a", "go on");
		show("❯");
		await world.pass(2_500);
		expect(typed()).toContain("go on");
		confirm("go on");
		const first = runId();
		await world.backend.kill({ runId: first } as never);
		await world.pass(5_000);
		expect(runId()).not.toBe(first);
		show("❯");
		await world.pass(60_000);
		expect(typed()).toBe("");
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
	});

	test("that a run has not confirmed by its end is typed into the next", async () => {
		await world.engine.inbox.accept("p:a", "go on");
		show("❯");
		await world.pass(2_500);
		await world.backend.kill({ runId: runId() } as never);
		await world.pass(5_000);
		show("❯");
		await world.pass(3_000);
		expect(typed()).toBe(`${PASTED}\r`);
	});

	test("fails with a reason if it is never confirmed, and is kept; other messages continue", async () => {
		await world.engine.inbox.accept("p:a", "go on");
		await world.engine.inbox.accept("p:a", "next");
		show("❯");
		await world.pass(60_000);
		expect(typed()).toContain(`${PASTED}\r\r\r`);
		const [dead, next] = world.engine.inbox.list();
		expect(dead).toMatchObject({
			phase: "dead",
			reason: expect.stringContaining("did not confirm"),
		});
		expect(next).toMatchObject({ text: "next", phase: "typed" });
		await world.killAndRestart();
		expect(world.engine.inbox.list()).toHaveLength(2);
	});
});

test("no agent gets more than can be stored (A6)", async () => {
	for (let n = 0; n < 200; n++) await world.engine.inbox.accept("p:a", `${n}`);
	await expect(world.engine.inbox.accept("p:a", "more")).rejects.toMatchObject({
		code: "inbox_full",
	});
});
