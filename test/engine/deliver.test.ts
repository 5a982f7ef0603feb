/**
 * Delivery against terminals and records that are slow: confirmations arrive while the daemon still waits for a key.
 */

import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import type { Message } from "../../src/core/inbox.js";
import type { AgentSign } from "../../src/core/sign.js";
import type { Activity } from "../../src/core/states.js";
import { type DeliveryWorld, deliver } from "../../src/engine/attending/deliver.js";
import { Inbox } from "../../src/engine/attending/inbox.js";
import { createManualClock } from "../../src/testing/manual-clock.js";
import { createMemoryStore, type MemoryStore } from "../support/memory-store.js";

const KEY_MS = 150;
const PATIENCE_MS = 16_000;

let clock: ReturnType<typeof createManualClock>;
let store: MemoryStore;
let inbox: Inbox;
let signs: AgentSign[];
/** The CLI's reaction to an Enter key. */
let onEnter: () => void;
let submitted: string[];
let enters: number;
let inputLine: string;
let savesLater: boolean;

beforeEach(() => {
	clock = createManualClock({ steadyMs: 0, wallMs: 1_700_000_000_000 });
	store = createMemoryStore();
	inbox = new Inbox(store, clock, () => "m1");
	[signs, submitted, enters, inputLine] = [[], [], 0, ""];
	onEnter = submit;
	savesLater = false;
});

/** The CLI accepts the text in its input line as a prompt, and records it. */
function submit(): void {
	if (inputLine === "") return;
	submitted.push(inputLine);
	confirm(inputLine);
	inputLine = "";
}

function confirm(prompt: string): void {
	signs.push({ source: "hook", name: "UserPromptSubmit", atMs: clock.now().wallMs, prompt });
}

/** A terminal that answers every key only after a while. */
function worldOf(runId = "run-1"): DeliveryWorld {
	const backend = {
		async paste(_handle: unknown, text: string) {
			inputLine += text;
			clock.advance(KEY_MS);
		},
		async input(_handle: unknown, bytes: Uint8Array) {
			const text = Buffer.from(bytes).toString();
			if (text === "\r") {
				enters += 1;
				onEnter();
			} else inputLine += text;
			clock.advance(KEY_MS);
		},
		async screen() {
			return { text: "❯", isIncomplete: false };
		},
	};
	const profile = {
		...PLAIN_PROFILE,
		confirmsPrompts: true,
		savesPromptsLater: savesLater,
		screen: { ready: ["^❯$"], busy: [], waitingInput: [], rateLimited: [], dialogs: [] },
	};
	const handle = { runId };
	return { ...{ inbox, agentId: "p:a", runId, clock, profile }, backend, handle } as never;
}

async function look(world = worldOf(), activity: Activity = "ready"): Promise<void> {
	let isDone = false;
	const looking = deliver(world, activity, [...signs]).finally(() => {
		isDone = true;
	});
	while (!isDone) {
		for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
		if (!isDone) clock.advance(100);
	}
	await looking;
}

const types = () => store.events.map(({ type }) => type);

describe("a message whose confirmation arrives before the daemon expects it", () => {
	test("is delivered when the second Enter submits it and the key takes long", async () => {
		await inbox.accept("p:a", "go on");
		onEnter = () => {};
		await look();
		onEnter = submit;
		clock.advance(PATIENCE_MS);
		await look();
		expect(submitted).toEqual(["go on"]);
		await look();
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
	});

	test("is not typed into the next run when this one ends after the second Enter", async () => {
		await inbox.accept("p:a", "go on");
		onEnter = () => {};
		await look();
		onEnter = submit;
		clock.advance(PATIENCE_MS);
		await look();
		await inbox.settle("p:a", signs, savesLater);
		signs = [];
		await look(worldOf("run-2"));
		expect(submitted).toEqual(["go on"]);
		expect(inbox.list()).toEqual([]);
	});

	test("is delivered when the CLI confirms it just before the second Enter", async () => {
		await inbox.accept("p:a", "go on");
		onEnter = () => {};
		await look();
		clock.advance(PATIENCE_MS);
		const late = deliver(worldOf(), "ready", [...signs]);
		// The record was read before this line was written to it.
		confirm("go on");
		inputLine = "";
		clock.advance(KEY_MS);
		await late;
		clock.advance(PATIENCE_MS);
		await look();
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
		expect(enters).toBeLessThanOrEqual(2);
	});

	test("is delivered after a daemon died between the second Enter and the next check", async () => {
		await inbox.accept("p:a", "go on");
		onEnter = () => {};
		await look();
		onEnter = submit;
		clock.advance(PATIENCE_MS);
		await look();
		const next = new Inbox(store, clock, () => "m2");
		next.recover();
		inbox = next;
		await look();
		expect(submitted).toEqual(["go on"]);
		expect(next.list()).toEqual([]);
	});

	test("is not confirmed by the same text in an earlier message", async () => {
		confirm("go on");
		clock.advance(1_000);
		await inbox.accept("p:a", "go on");
		onEnter = () => {};
		await look();
		await look();
		expect(inbox.list()).toMatchObject([{ phase: "typed" }]);
	});
});

test("Enter is not pressed again into a question that has just appeared", async () => {
	await inbox.accept("p:a", "go on");
	onEnter = () => {};
	await look();
	clock.advance(PATIENCE_MS);
	const world = worldOf();
	const asks = { ...world.profile.screen, waitingInput: ["^Run it"] };
	const text = "Run it?\n❯ 1. Yes";
	const backend = { ...world.backend, screen: async () => ({ text, isIncomplete: false }) };
	const profile = { ...world.profile, screen: asks };
	await look({ ...world, profile, backend } as never);
	expect(enters).toBe(1);
});

test("nothing is typed while output is missing on the screen, and then it is", async () => {
	await inbox.accept("p:a", "go on");
	const world = worldOf();
	let isIncomplete = true;
	const backend = { ...world.backend, screen: async () => ({ text: "❯", isIncomplete }) };
	await look({ ...world, backend } as never);
	expect([inputLine, enters, inbox.head("p:a")?.phase]).toEqual(["", 0, "queued"]);
	isIncomplete = false;
	await look({ ...world, backend } as never);
	expect(enters).toBe(1);
});

describe("a CLI that reads its input slowly", () => {
	/** Shows its input line, and reads typed input only later. */
	function slowWorld(readsAtMs: number): DeliveryWorld {
		const world = worldOf();
		const waiting: string[] = [];
		const read = () => {
			if (clock.now().steadyMs < readsAtMs) return;
			const keys = waiting.splice(0);
			for (const [index, key] of keys.entries()) {
				// Enter that comes with a paste is a line break in it.
				if (key !== "\r") inputLine += key;
				else if (index > 0) inputLine += "\n";
				else onEnter();
			}
		};
		const backend = {
			async input(_handle: unknown, bytes: Uint8Array) {
				const key = Buffer.from(bytes).toString();
				if (key === "\r") enters += 1;
				waiting.push(key);
			},
			async paste(_handle: unknown, text: string) {
				waiting.push(text);
			},
			async screen() {
				read();
				return { text: `❯ ${inputLine}`, isIncomplete: false };
			},
		};
		const screen = { ...world.profile.screen, ready: ["^❯"] };
		return { ...world, backend, profile: { ...world.profile, screen } } as never;
	}

	test("gets Enter once the text is in its input", async () => {
		await inbox.accept("p:a", "go on with it");
		await look(slowWorld(900));
		expect(submitted).toEqual(["go on with it"]);
		expect(enters).toBe(1);
	});

	test("gets Enter again soon when the text is still in its input", async () => {
		let swallowed = 1;
		onEnter = () => (swallowed-- > 0 ? undefined : submit());
		await inbox.accept("p:a", "go on with it");
		const world = slowWorld(0);
		await look(world);
		await look(world);
		await world.backend.screen(world.handle);
		expect(submitted).toEqual(["go on with it"]);
		expect(clock.now().steadyMs).toBeLessThan(5_000);
	});
});

test("a message that an older daemon stored is confirmed by its own time", async () => {
	await inbox.accept("p:a", "go on");
	onEnter = () => {};
	await look();
	const [stored] = inbox.list();
	const { typedAtMs: _, ...old } = stored as Message & { typedAtMs?: number };
	await inbox.save(old as Message);
	confirm("go on");
	await look();
	expect(inbox.list()).toEqual([]);
});

describe("a message to a CLI that reports a prompt before it saves it", () => {
	const save = (prompt: string) =>
		signs.push({ source: "transcript", name: "user", atMs: clock.now().wallMs, prompt });

	beforeEach(async () => {
		savesLater = true;
		await inbox.accept("p:a", "go on");
		await look();
		expect(submitted).toEqual(["go on"]);
	});

	test("is typed into the next run if the CLI is killed in between", async () => {
		await look();
		await inbox.settle("p:a", signs, savesLater);
		expect(types()).toEqual(["inbox.accepted"]);
		signs = [];
		await look(worldOf("run-2"));
		expect(submitted).toEqual(["go on", "go on"]);
		save("go on");
		await look(worldOf("run-2"));
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
	});

	test("is not typed into the next run if the CLI is killed afterwards", async () => {
		save("go on");
		await inbox.settle("p:a", signs, savesLater);
		expect(inbox.list()).toEqual([]);
	});

	test("is delivered once it is saved, and no key is pressed until then", async () => {
		clock.advance(PATIENCE_MS - 2_000);
		await look();
		expect({ enters, types: types() }).toEqual({ enters: 1, types: ["inbox.accepted"] });
		save("go on");
		await look();
		expect(types()).toEqual(["inbox.accepted", "inbox.delivered"]);
	});

	test("is delivered after a while if the CLI saves it elsewhere", async () => {
		clock.advance(PATIENCE_MS);
		await look();
		expect({ enters, types: types() }).toEqual({
			enters: 1,
			types: ["inbox.accepted", "inbox.delivered"],
		});
	});
});
