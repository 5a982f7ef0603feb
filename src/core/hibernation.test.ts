import { describe, expect, test } from "vitest";
import {
	decideHibernation,
	type HibernationFacts,
	type HiddenFacts,
	renderHibernation,
} from "./hibernation.js";
import { ACTIVITIES } from "./states.js";

const AFTER = { afterMs: 60_000 };
const SINCE = { idleSinceMs: 1_000 };
const IDLE: HibernationFacts = {
	resumes: true,
	isReady: true,
	isEnding: false,
	activity: "ready",
	messages: 0,
	hasQuestion: false,
	hasDraft: false,
	viewers: 0,
	hasFailedTurn: false,
	isHeld: false,
	dependents: [],
	nowMs: 61_000,
};
const NOTHING: HiddenFacts = {
	tools: 0,
	otherViewers: 0,
	wasAttached: false,
	conversation: "confirmed",
};

describe("an agent hibernates", () => {
	test("once it has been idle for the whole time, after a check for hidden work", () => {
		const early = decideHibernation(SINCE, { ...IDLE, nowMs: 60_999 }, NOTHING, AFTER);
		expect(early).toMatchObject({ action: "wait", reason: "hibernates after 60s without work" });
		expect(decideHibernation(SINCE, IDLE, null, AFTER)).toMatchObject({ action: "look" });
		expect(decideHibernation(SINCE, IDLE, NOTHING, AFTER)).toEqual({
			state: SINCE,
			action: "hibernate",
			reason: "idle for 60s",
		});
	});
});

/** Each refuses on its own, and starts the idle time again if it is work. */
const REFUSALS: readonly (readonly [Partial<HibernationFacts>, RegExp, "work" | "obstacle"])[] = [
	...ACTIVITIES.filter((activity) => activity !== "ready").map(
		(activity) => [{ activity }, /./, "work"] as const,
	),
	[{ isReady: false }, /not ready/, "work"],
	[{ isEnding: true }, /stopping/, "work"],
	[{ isHeld: true }, /usage limit/, "work"],
	[{ hasQuestion: true }, /answer/, "work"],
	[{ messages: 1 }, /a message/, "work"],
	[{ messages: 2 }, /2 messages/, "work"],
	[{ hasDraft: true }, /without submitting/, "work"],
	[{ viewers: 1 }, /a terminal is/, "work"],
	[{ viewers: 3 }, /3 terminals/, "work"],
	[{ resumes: false }, /cannot resume/, "obstacle"],
	[{ hasFailedTurn: true }, /last turn failed/, "obstacle"],
	[{ hasDraft: null }, /before the daemon started/, "obstacle"],
	[{ dependents: ["p:web"] }, /p:web depends on it/, "obstacle"],
	[{ dependents: ["p:a", "p:b"] }, /2 agents depend/, "obstacle"],
];

const HIDDEN: readonly (readonly [Partial<HiddenFacts>, RegExp, "work" | "obstacle"])[] = [
	[{ tools: null }, /cannot be listed/, "work"],
	[{ tools: 1 }, /a tool is/, "work"],
	[{ tools: 2 }, /2 tools/, "work"],
	[{ otherViewers: null }, /unknown whether/, "work"],
	[{ otherViewers: 1 }, /a terminal is attached/, "work"],
	[{ wasAttached: true }, /may have left a draft/, "obstacle"],
	[{ conversation: "unconfirmed" }, /no record/, "obstacle"],
	[{ conversation: "unknown" }, /is unknown/, "obstacle"],
];

describe("an agent does not hibernate", () => {
	const stateFor = (kind: "work" | "obstacle") =>
		kind === "work" ? { idleSinceMs: 61_000 } : SINCE;

	test.each(REFUSALS)("with %o", (facts, reason, kind) => {
		for (const hidden of [null, NOTHING]) {
			const decision = decideHibernation(SINCE, { ...IDLE, ...facts }, hidden, AFTER);
			expect(decision).toMatchObject({ action: "wait", state: stateFor(kind) });
			expect(decision.reason).toMatch(reason);
		}
	});

	test.each(HIDDEN)("with hidden %o", (hidden, reason, kind) => {
		const decision = decideHibernation(SINCE, IDLE, { ...NOTHING, ...hidden }, AFTER);
		expect(decision).toMatchObject({ action: "wait", state: stateFor(kind) });
		expect(decision.reason).toMatch(reason);
	});

	test("in any combination of facts but one", () => {
		const values: { readonly [Key in keyof HibernationFacts]?: readonly unknown[] } = {
			resumes: [true, false],
			isReady: [true, false],
			isEnding: [false, true],
			activity: ACTIVITIES,
			messages: [0, 1],
			hasQuestion: [false, true],
			hasDraft: [false, true, null],
			viewers: [0, 1],
			hasFailedTurn: [false, true],
			isHeld: [false, true],
			dependents: [[], ["p:a"]],
			nowMs: [61_000, 60_000],
		};
		let grid: Partial<HibernationFacts>[] = [{}];
		for (const [key, each] of Object.entries(values)) {
			grid = grid.flatMap((facts) => each.map((value) => ({ ...facts, [key]: value })));
		}
		const may = grid.filter(
			(facts) =>
				decideHibernation(SINCE, facts as HibernationFacts, NOTHING, AFTER).action !== "wait",
		);
		expect(may).toEqual([IDLE]);
		expect(grid.length).toBeGreaterThan(20_000);
	});
});

test("a hibernation is described with the memory that it freed, if known", () => {
	const hibernation = { runId: "r", sinceMs: 0, idleMs: 90_400, freedBytes: 412_300_000 };
	expect(renderHibernation(hibernation)).toMatch(
		/^hibernated after 1m 30s of idle time, freed 412 MB;/,
	);
	expect(renderHibernation({ ...hibernation, freedBytes: null })).not.toMatch(/freed/);
});
