/**
 * Agents that hibernate, in memory and on a manual clock: single rules first, then random interleavings of
 * messages, terminals, drafts, tools, questions, idle time and killed daemons. The oracle is the scripted
 * CLI: it knows what it was doing when it was stopped, which prompts it got, and in which conversation.
 * `REEVE_HIBERNATION_ROUNDS=500` is the long form; a failure prints its seed.
 */

import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { createRandom } from "../../src/testing/random.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

const ROUNDS = Number(process.env["REEVE_HIBERNATION_ROUNDS"] ?? 12);
const SEED = Number(process.env["REEVE_HIBERNATION_SEED"] ?? 200);
const ACTIONS = 30;
const FLEET = "a: { adapter: claude, hibernate: { after: 60s }, drain: { timeout: 5s } }";
const VIEWER = { onSnapshot: () => {}, onOutput: () => {}, onClose: () => {} };

/** A CLI with one conversation, whose processes come and go. */
class Cli {
	readonly world: DaemonWorld;
	readonly sessions: ScriptedSessions;
	/** Submitted prompts, in order. */
	readonly prompts: string[] = [];
	readonly violations: string[] = [];
	runId = "";
	#startedAtMs = 0;
	#read = 0;
	#line = "";
	#busyUntilMs = 0;
	/** Then an input with a draft is not ready, for any daemon that sees it. */
	showsDrafts = false;
	question = false;
	tool = false;
	attached: { close(): void } | null = null;

	constructor(world: DaemonWorld, sessions: ScriptedSessions) {
		this.world = world;
		this.sessions = sessions;
	}

	get nowMs(): number {
		return this.world.clock.now().wallMs;
	}

	/** Everything that would be lost if its process ended now. */
	get work(): readonly string[] {
		return [
			...(this.nowMs < this.#busyUntilMs ? ["a turn"] : []),
			...(this.question ? ["a question"] : []),
			...(this.tool ? ["a tool"] : []),
			...(this.#line === "" ? [] : [`a draft (${this.#line})`]),
			...(this.attached === null ? [] : ["a viewer"]),
		];
	}

	tick(): void {
		const run = this.world.engine.get("p:a").run;
		if (run === null || run.handle === null) return;
		if (run.runId !== this.runId) this.#start(run.runId);
		const typed = Buffer.from(this.world.backend.typed(this.runId)).toString();
		for (; this.#read < typed.length; this.#read++) {
			const char = typed.charAt(this.#read);
			if (char !== "\r") this.#line += char;
			else if (this.#line !== "") this.#submit();
		}
		this.#draw();
	}

	/** The process is gone; anything that it was doing is lost. */
	exited(runId: string): void {
		if (runId !== this.runId) return;
		for (const work of this.work) this.violations.push(`${runId} was stopped with ${work}`);
		this.runId = "";
	}

	#start(runId: string): void {
		[this.runId, this.#read, this.#line, this.#busyUntilMs] = [runId, 0, "", 0];
		[this.question, this.tool, this.attached] = [false, false, null];
		this.sessions.tools = { processes: "", cpuMs: 0 };
		this.#startedAtMs = this.nowMs;
	}

	#submit(): void {
		// biome-ignore lint/suspicious/noControlCharactersInRegex: the marks of a paste
		const prompt = this.#line.replaceAll(/\u001b\[20[01]~/g, "");
		this.#line = "";
		this.prompts.push(prompt);
		this.sessions.reported.push({ source: "hook", name: "U", atMs: this.nowMs, prompt });
		this.sessions.recorded = true;
		this.#busyUntilMs = this.nowMs + 3_000;
	}

	#draw(): void {
		let text = this.showsDrafts && this.#line !== "" ? `❯ ${this.#line}` : "❯";
		if (this.nowMs < this.#startedAtMs + 1_000) text = "starting";
		else if (this.question) text = "Run it?\n❯ 1. Yes";
		else if (this.nowMs < this.#busyUntilMs) text = "esc to interrupt";
		this.world.backend.show(this.runId, text);
	}
}

let world: DaemonWorld;
let sessions: ScriptedSessions;
let cli: Cli;
let conversations: Set<string | null>;

async function createWorld(): Promise<void> {
	sessions = createScriptedSessions();
	sessions.recorded = false;
	sessions.profile = {
		...PLAIN_PROFILE,
		confirmsPrompts: true,
		conversation: { id: "chosen", fresh: [], resume: [], gone: [], transcript: ["x"] },
		screen: {
			...{ ready: ["^❯$"], busy: ["esc to interrupt"], waitingInput: ["^❯ \\d"], rateLimited: [] },
			dialogs: [],
		},
	};
	conversations = new Set();
	const { converse } = sessions;
	sessions.converse = (spec, intent) => {
		const start = converse(spec, intent);
		conversations.add(start?.id ?? null);
		return start;
	};
	world = await createDaemonWorld(undefined, undefined, sessions);
	cli = new Cli(world, sessions);
	await world.engine.up(fleetOf(FLEET), "p:a");
	await pass(3_000);
}

let seenEvents = 0;
/** Lets time pass; the CLI reacts in between. */
async function pass(ms: number, stepMs = 250): Promise<void> {
	for (let left = ms; left > 0; left -= stepMs) {
		cli.tick();
		await world.pass(Math.min(stepMs, left));
		const { events } = world.store;
		seenEvents = Math.min(seenEvents, events.length);
		for (const event of events.slice(seenEvents)) {
			if (event.type === "agent.exited") cli.exited(event.run_id ?? "");
		}
		seenEvents = events.length;
	}
	cli.tick();
}

const view = () => world.engine.get("p:a");
const isAsleep = () => view().run === null && view().agent.hibernation != null;
const count = (type: string) => world.store.events.filter((event) => event.type === type).length;
const send = (text: string) => world.engine.terminals.send("p:a", text, true);
/** With a turn behind it, so that its conversation has a record. */
async function sleepAfterTurn(): Promise<void> {
	await send("first");
	await pass(10_000);
	await pass(80_000, 1_000);
	expect(isAsleep()).toBe(true);
}

beforeEach(async () => {
	seenEvents = 0;
	await createWorld();
});

describe("a hibernated agent", () => {
	test("has no process, and a message starts it with its conversation", async () => {
		await sleepAfterTurn();
		expect(view()).toMatchObject({
			...{ process: "stopped", run: null, agent: { desired: "up", crash: { policy: "healthy" } } },
			lastExit: { cause: "requested", askedBy: "reeve" },
		});
		expect(view().agent.reason).toMatch(/^hibernated after 1m .*, freed 100 MB;/);
		await pass(600_000, 10_000);
		expect(isAsleep()).toBe(true);
		await send("second");
		await pass(10_000);
		expect(cli.prompts).toEqual(["first", "second"]);
		expect(conversations.size).toBe(1);
		expect(view().agent.restarts).toBe(0);
		expect([count("agent.hibernated"), count("agent.woken")]).toEqual([1, 1]);
	});

	test("is started by a terminal, by `up`, and not by `down`", async () => {
		await sleepAfterTurn();
		const attached = world.engine.terminals.attach("p:a", VIEWER, null);
		await pass(3_000);
		const connection = await attached;
		await pass(120_000, 1_000);
		expect(view()).toMatchObject({ process: "running" });
		expect(view().hibernation?.reason).toBe("a terminal is attached");
		connection.close();
		await pass(80_000, 1_000);
		expect(isAsleep()).toBe(true);
		await world.engine.up(fleetOf(FLEET), "p:a");
		await pass(3_000);
		expect(view()).toMatchObject({ process: "running" });
		await pass(80_000, 1_000);
		expect(isAsleep()).toBe(true);
		expect(await world.engine.down("p:a")).toMatchObject([{ outcome: "already_stopped" }]);
		expect(view().agent).toMatchObject({ desired: "down", hibernation: null });
	});

	test("stays asleep under a new daemon, unless a message was accepted right before", async () => {
		await sleepAfterTurn();
		await world.killAndRestart(1_000);
		await pass(10_000);
		expect(isAsleep()).toBe(true);
		void send("second");
		await world.settle();
		await world.killAndRestart();
		await pass(10_000);
		expect(cli.prompts).toEqual(["first", "second"]);
	});

	test("starts for an agent that depends on it, and does not hibernate under one", async () => {
		await sleepAfterTurn();
		void world.engine.up(fleetOf(`${FLEET}\nb: { command: [x], depends_on: [a] }`), "p:b");
		await pass(10_000);
		expect(view()).toMatchObject({ process: "running", ready: true });
		expect(world.engine.get("p:b")).toMatchObject({ process: "running" });
		await pass(120_000, 1_000);
		expect(view().hibernation?.reason).toBe("p:b depends on it");
	});

	test("keeps its message when it cannot be started", async () => {
		await sleepAfterTurn();
		world.backend.script("p:a", { startFailure: { permanent: true, detail: "no such program" } });
		await send("second");
		await pass(10_000);
		expect(view().agent).toMatchObject({ crash: { policy: "halted" } });
		expect(world.engine.inbox.list()).toMatchObject([{ text: "second", phase: "queued" }]);
		world.backend.script("p:a", {});
		await world.engine.resume("p:a");
		await pass(10_000);
		expect(cli.prompts).toEqual(["first", "second"]);
	});
});

describe("an agent does not hibernate", () => {
	test("before its conversation has a record", async () => {
		await pass(120_000, 1_000);
		expect(view().hibernation?.reason).toBe("its conversation has no record yet");
	});

	test("but is checked again as soon as it has been idle after its next turn", async () => {
		await world.engine.reload(fleetOf(FLEET.replace("60s", "10s")));
		const unrecorded = "its conversation has no record yet";
		for (let left = 60; left > 0 && view().hibernation?.reason !== unrecorded; left--) {
			await pass(1_000);
		}
		expect(view().hibernation?.reason).toBe(unrecorded);
		await send("first");
		await pass(18_000);
		expect(isAsleep()).toBe(true);
	});

	test("with a draft that only an earlier daemon knows", async () => {
		await send("first");
		await pass(10_000);
		void world.engine.terminals.input("p:a", Buffer.from("half a thou"));
		await pass(1_000);
		await world.killAndRestart(500);
		await pass(120_000, 1_000);
		expect(view()).toMatchObject({ process: "running" });
		expect(view().hibernation?.reason).toMatch(/may have typed into it before the daemon started/);
		void world.engine.terminals.input("p:a", Buffer.from("ght\r"));
		await pass(80_000, 1_000);
		expect(cli.prompts).toEqual(["first", "half a thought"]);
		expect(isAsleep()).toBe(true);
	});
});

describe("a daemon that dies during a hibernation", () => {
	test("before the stop leaves an agent that keeps running", async () => {
		world.backend.script("p:a", { ignoresSignals: true });
		await world.engine.restart("p:a", { fresh: false, timeoutMs: 0 });
		await pass(3_000);
		await send("first");
		await pass(10_000);
		for (let left = 90; left > 0 && view().agent.hibernation == null; left--) await pass(1_000);
		expect(view()).toMatchObject({ process: "stopping" });
		await world.killAndRestart();
		expect(view()).toMatchObject({ process: "stopping" });
		await pass(6_000);
		expect(view()).toMatchObject({ process: "running", agent: { hibernation: null } });
		expect(count("agent.hibernated")).toBe(0);
		await send("second");
		await pass(10_000);
		expect(cli.prompts).toEqual(["first", "second"]);
	});
});

test(`loses nothing in ${ROUNDS} random interleavings`, {
	timeout: 60_000 + ROUNDS * 20_000,
}, async () => {
	let slept = 0;
	let woken = 0;
	for (let round = 0; round < ROUNDS; round++) {
		const seed = SEED + round;
		slept += await interleave(seed);
		woken += count("agent.woken");
	}
	console.log(`${ROUNDS} interleavings from seed ${SEED}: ${slept} hibernations, ${woken} wakes`);
	expect(slept).toBeGreaterThan(ROUNDS);
	expect(woken).toBeGreaterThan(ROUNDS);
});

/** One history; how often the agent hibernated in it. */
async function interleave(seed: number): Promise<number> {
	const random = createRandom(seed);
	seenEvents = 0;
	await createWorld();
	cli.showsDrafts = true;
	const sent: string[] = [];
	let messages = 0;
	const log: string[] = [];
	const actions: Readonly<Record<string, () => unknown>> = {
		message() {
			messages += 1;
			const text = `message ${messages}.`;
			const { engine } = world;
			return send(text).then(
				() => engine === world.engine && sent.push(text),
				() => {},
			);
		},
		attach() {
			const { engine } = world;
			return engine.terminals.attach("p:a", VIEWER, null).then(
				(connection) => {
					if (engine !== world.engine || cli.runId === "") return;
					const { runId } = cli;
					cli.attached ??= connection;
					if (cli.runId !== runId) cli.attached = null;
				},
				() => {},
			);
		},
		detach() {
			cli.attached?.close();
			cli.attached = null;
		},
		draft: () => world.engine.terminals.input("p:a", Buffer.from("note ")).catch(() => {}),
		enter: () => world.engine.terminals.input("p:a", Buffer.from("\r")).catch(() => {}),
		question() {
			if (cli.runId !== "") cli.question = !cli.question;
		},
		tool() {
			if (cli.runId === "") return;
			cli.tool = !cli.tool;
			sessions.tools = { processes: cli.tool ? "7 7" : "", cpuMs: 0 };
		},
		async kill() {
			cli.attached = null;
			await world.killAndRestart(random.int(0, 4_000));
		},
		up: () => world.engine.up(fleetOf(FLEET), "p:a").catch(() => {}),
	};
	const names = Object.keys(actions);
	for (let n = 0; n < ACTIONS; n++) {
		const name = names[random.int(0, names.length - 1)] ?? "message";
		log.push(name);
		const done = actions[name]?.();
		// Several at the same moment, or long after one another.
		if (name === "kill") await done;
		const pauses = [0, 100, 1_500, 8_000, 70_000, 70_000];
		const ms = pauses[random.int(0, pauses.length - 1)] ?? 0;
		await pass(ms, ms > 10_000 ? 1_000 : 250);
		if (random.chance(0.5)) {
			// Let it get to rest now and then.
			actions["detach"]?.();
			if (cli.question) actions["question"]?.();
			if (cli.tool) actions["tool"]?.();
			await pass(1_000);
			void actions["enter"]?.();
			await pass(75_000 + random.int(0, 3_000), 1_000);
		}
	}
	actions["detach"]?.();
	if (cli.question) actions["question"]?.();
	if (cli.tool) actions["tool"]?.();
	void actions["enter"]?.();
	for (let left = 60; left > 0 && world.engine.inbox.head("p:a") !== null; left--) {
		await pass(5_000);
		// A draft that was typed after the last Enter.
		void actions["enter"]?.();
	}
	const story = `seed ${seed}: ${log.join(", ")}; prompts: ${JSON.stringify(cli.prompts)}`;
	expect(cli.violations, story).toEqual([]);
	expect(conversations.size, story).toBe(1);
	// A person who types between a message and its Enter changes it: then it is reported as not confirmed.
	const isMixed = ({ phase, text }: { readonly phase: string; readonly text: string }) =>
		phase === "dead" && cli.prompts.some((prompt) => prompt !== text && prompt.includes(text));
	expect(
		world.engine.inbox.list().filter((message) => !isMixed(message)),
		story,
	).toEqual([]);
	for (const text of sent) {
		const times = cli.prompts.filter((prompt) => prompt.includes(text)).length;
		expect([text, times], story).toEqual([text, 1]);
	}
	return count("agent.hibernated");
}
