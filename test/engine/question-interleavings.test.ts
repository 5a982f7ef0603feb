/**
 * Questions on a screen that are answered through Reeve while everything else happens at the same time:
 * they change, a person answers in the terminal, two clients answer at once, the screen is repainted, the
 * daemon is killed. The terminal reads its keys late, as on a loaded host, and records which key it read
 * at which question. `REEVE_QUESTION_ROUNDS=1000` is the long form; a failure prints its seed.
 *
 * Not modelled, because no client can notice it: a program that replaces its question by itself between
 * the press of a key and the moment it reads that key.
 */

import { expect, test } from "vitest";
import { type AdapterProfile, PLAIN_PROFILE } from "../../src/core/adapter.js";
import { KEY_BYTES } from "../../src/core/screen.js";
import { createRandom, type SeededRandom } from "../../src/testing/random.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

const ROUNDS = Number(process.env["REEVE_QUESTION_ROUNDS"] ?? 120);
const SEED = Number(process.env["REEVE_QUESTION_SEED"] ?? Date.now() % 1_000_000);
const STEP_MS = 100;
const ROUND_MS = 24_000;
const BY = { by: "owner", who: "uid 1", correlationId: "c" } as const;

const ASKING_PROFILE: AdapterProfile = {
	...PLAIN_PROFILE,
	screen: {
		...{ ready: ["^❯$"], busy: [], waitingInput: ["^❯ \\d"], rateLimited: [], dialogs: [] },
	},
};

interface Shown {
	readonly n: number;
	readonly title: string;
	readonly labels: readonly string[];
	selected: number;
}

/** An answer that a client gave through Reeve. */
interface Given {
	readonly n: number;
	readonly label: string;
	outcome: string;
}

/** A program in a terminal that shows a question and reads keys in order, each after a while. */
class AskingProgram {
	readonly world: DaemonWorld;
	question: Shown | null = null;
	/** Every key that Reeve pressed, as it was read. */
	readonly read: { readonly key: string; readonly n: number | null; readonly label: string }[] = [];
	readonly closed = new Map<number, string>();
	/** When each question appeared, in wall time. */
	readonly asked: { readonly n: number; readonly atMs: number }[] = [];
	/** Byte ranges that a person typed. */
	readonly #byHand: (readonly [from: number, to: number])[] = [];
	readonly #lagMs: number;
	#at = 0;
	readonly #pending: { readonly key: string; readonly at: number; readonly dueMs: number }[] = [];
	#hiddenUntilMs = 0;

	constructor(world: DaemonWorld, lagMs: number) {
		this.world = world;
		this.#lagMs = lagMs;
	}

	get runId(): string {
		return this.world.engine.get("p:a").run?.runId ?? "run-1";
	}

	ask(question: Shown): void {
		this.question = question;
		this.asked.push({ n: question.n, atMs: this.world.clock.now().wallMs });
		this.draw();
	}

	/** Whether everything that was typed has been read. */
	get isIdle(): boolean {
		return this.#pending.length === 0 && this.#typed().length === this.#at;
	}

	hide(ms: number): void {
		this.#hiddenUntilMs = this.world.clock.now().steadyMs + ms;
		this.draw();
	}

	typeByHand(keys: string): void {
		// Keys typed at the same moment have not arrived yet.
		const from = Math.max(this.#typed().length, this.#byHand.at(-1)?.[1] ?? 0);
		this.#byHand.push([from, from + keys.length]);
		this.world.engine.terminals.input("p:a", Buffer.from(keys)).catch(() => {});
	}

	/** Reads the keys that are due. */
	tick(): void {
		const nowMs = this.world.clock.now().steadyMs;
		const typed = this.#typed();
		while (this.#at < typed.length) {
			const left = typed.slice(this.#at);
			const key = Object.values(KEY_BYTES).find((each) => left.startsWith(each)) ?? left.charAt(0);
			this.#pending.push({ key, at: this.#at, dueMs: nowMs + this.#lagMs });
			this.#at += key.length;
		}
		for (let next = this.#pending[0]; next && next.dueMs <= nowMs; next = this.#pending[0]) {
			this.#pending.shift();
			const isByHand = this.#byHand.some(([from, to]) => next.at >= from && next.at < to);
			this.#press(next.key, isByHand);
		}
		this.draw();
	}

	draw(): void {
		const isHidden = this.world.clock.now().steadyMs < this.#hiddenUntilMs;
		const { backend } = this.world;
		if (isHidden) backend.show(this.runId, "loading");
		else if (this.question === null) backend.show(this.runId, "❯");
		else backend.show(this.runId, renderQuestion(this.question));
	}

	#typed(): string {
		return Buffer.from(this.world.backend.typed(this.runId)).toString("latin1");
	}

	#press(key: string, isByHand: boolean): void {
		const { question } = this;
		const label = question?.labels[question.selected] ?? "";
		if (!isByHand) this.read.push({ key, n: question?.n ?? null, label });
		if (question === null) return;
		const { labels } = question;
		if (key === KEY_BYTES.up) question.selected = Math.max(0, question.selected - 1);
		if (key === KEY_BYTES.down) {
			question.selected = Math.min(labels.length - 1, question.selected + 1);
		}
		const chosen = key === KEY_BYTES.enter ? label : labels[Number(key) - 1];
		if (chosen === undefined) return;
		this.closed.set(question.n, isByHand ? "a person" : chosen);
		this.question = null;
	}
}

function renderQuestion({ title, labels, selected }: Shown): string {
	const rows = labels.map((label, n) => `${n === selected ? "❯" : " "} ${n + 1}. ${label}`);
	return ["some output", "", title, "", ...rows].join("\n");
}

const TITLES = ["Run npm test?", "Remove the folder?", "Run npm test?"] as const;
const LABELS = ["Yes", "Yes, always", "No", "Explain"];

function newQuestion(n: number, random: SeededRandom): Shown {
	const labels = LABELS.slice(0, random.int(2, LABELS.length));
	return { n, title: random.pick(TITLES), labels, selected: random.int(0, labels.length - 1) };
}

interface Round {
	readonly program: AskingProgram;
	readonly sessions: ScriptedSessions;
	readonly random: SeededRandom;
	readonly given: Given[];
	next: number;
}

/** Answers what a client sees now: the question that the API shows, which may just be outdated. */
function answer({ program, random, given }: Round): void {
	const { question } = program.world.engine.get("p:a");
	if (question === null) return;
	const chosen = random.pick(question.choices as [(typeof question.choices)[0]]);
	const shown = program.asked.findLast(({ atMs }) => atMs <= question.askedAtMs)?.n ?? -1;
	const n = Number(/#(\d+)/.exec(question.detail ?? "")?.[1] ?? shown);
	const entry: Given = { n, label: chosen.label, outcome: "open" };
	given.push(entry);
	program.world.engine.people.answer("p:a", question.id, { choice: chosen.number }, BY).then(
		() => {
			entry.outcome = "answered";
		},
		(error: { code?: string }) => {
			entry.outcome = error.code ?? String(error);
		},
	);
}

function ask(round: Round): void {
	const { program, sessions, random } = round;
	const question = newQuestion(round.next++, random);
	const isReported = random.chance(0.5);
	// Without a report, two equal questions in a row are the same one on any screen.
	program.ask(isReported ? question : { ...question, title: `#${question.n}\n${question.title}` });
	if (isReported) {
		sessions.reported.push({
			...{ source: "hook", name: "PermissionRequest", activity: "waiting_input" },
			atMs: program.world.clock.now().wallMs,
			question: { kind: "permission", text: `Bash: ${question.title}` },
		});
	}
}

async function play(round: Round): Promise<void> {
	const { program, random } = round;
	ask(round);
	const happenings = Array.from({ length: random.int(1, 5) }, () => ({
		atMs: random.int(0, 90) * STEP_MS,
		what: random.pick([
			"answer",
			"answer",
			"answer twice",
			"hand",
			"move",
			"change",
			"hide",
			"kill",
		]),
	}));
	for (let ms = 0; ms < ROUND_MS; ms += STEP_MS) {
		for (const { what } of happenings.filter(({ atMs }) => atMs === ms)) {
			if (what.startsWith("answer")) answer(round);
			if (what === "answer twice") answer(round);
			if (what === "hand") program.typeByHand(String(random.int(1, 2)));
			if (what === "move") program.typeByHand(random.pick([KEY_BYTES.up, KEY_BYTES.down]));
			if (what === "change" && program.isIdle) ask(round);
			if (what === "hide") program.hide(random.int(1, 9) * STEP_MS);
			if (what === "kill") {
				await program.world.killAndRestart(random.int(0, 20) * STEP_MS);
				for (const each of round.given) if (each.outcome === "open") each.outcome = "killed";
			}
		}
		program.world.clock.advance(STEP_MS);
		await program.world.settle();
		program.tick();
		const isOver = program.question === null && program.isIdle && ms > 10_000;
		if (isOver && round.given.every(({ outcome }) => outcome !== "open")) break;
	}
}

/** Violations, as text. */
function wrongKeys({ program, given }: Round): readonly string[] {
	const wrong: string[] = [];
	for (const { key, n, label } of program.read) {
		if (n === null) wrong.push(`${JSON.stringify(key)} without a question`);
		const wanted = given.filter((each) => each.n === n).map((each) => each.label);
		if (n !== null && wanted.length === 0) wrong.push(`a key at #${n}, which was not answered`);
		if (key === KEY_BYTES.enter && !wanted.includes(label)) {
			wrong.push(`Enter at #${n} ${label}; wanted ${wanted.join(", ")}`);
		}
	}
	for (const { n, label, outcome } of given) {
		if (outcome === "answered" && program.closed.get(n) !== label) {
			wrong.push(`#${n} is reported as ${label}; it got ${program.closed.get(n)}`);
		}
		if (outcome === "open") wrong.push(`an answer to #${n} never ended`);
	}
	return wrong;
}

/** One that shows a question, and whose CLI reported it with this text. */
async function startAsking(text: string): Promise<AskingProgram> {
	const sessions = createScriptedSessions();
	sessions.profile = ASKING_PROFILE;
	const world = await createDaemonWorld(() => 0.5, undefined, sessions);
	const started = world.engine.up(fleetOf("a: { command: [x] }"), "p:a");
	await world.pass(250);
	await started;
	const program = new AskingProgram(world, 0);
	program.draw();
	await world.pass(2_000);
	program.ask({ n: 1, title: "Run npm test?", labels: ["Yes", "No"], selected: 0 });
	sessions.reported.push({
		...{ source: "hook", name: "PermissionRequest", activity: "waiting_input" },
		...{ atMs: world.clock.now().wallMs, question: { kind: "permission", text } },
	});
	await world.pass(3_000);
	return program;
}

test.each([
	["Bash: npm test", "Bash: npm test"],
	["", "Run npm test?"],
])("a question that is reported as %j is shown as %j", async (reported, shown) => {
	const { world } = await startAsking(reported);
	expect(world.engine.get("p:a").question).toMatchObject({ source: "hook", text: shown });
	world.engine.close();
});

test(`${ROUNDS} random interleavings press no wrong key (seed ${SEED})`, async () => {
	const tally: Record<string, number> = {};
	for (let n = 0; n < ROUNDS; n++) {
		const random = createRandom(SEED + n);
		const sessions = createScriptedSessions();
		sessions.profile = ASKING_PROFILE;
		const world = await createDaemonWorld(() => random.next(), undefined, sessions);
		const started = world.engine.up(fleetOf("a: { command: [x] }"), "p:a");
		await world.pass(250);
		await started;
		const program = new AskingProgram(world, random.pick([0, 100, 300, 1_000]));
		program.draw();
		await world.pass(2_000);
		const round: Round = { program, sessions, random, given: [], next: 1 };
		await play(round);
		for (const { outcome } of round.given) tally[outcome] = (tally[outcome] ?? 0) + 1;
		expect(wrongKeys(round), `seed ${SEED + n}`).toEqual([]);
		expect(world.errors, `seed ${SEED + n}`).toEqual([]);
		world.engine.close();
	}
	console.log(`${ROUNDS} interleavings from seed ${SEED}: ${JSON.stringify(tally)}`);
	// A test without answers or collisions would prove nothing.
	expect(tally["answered"]).toBeGreaterThan(ROUNDS / 10);
	expect(tally["question_gone"]).toBeGreaterThan(0);
}, 600_000);
