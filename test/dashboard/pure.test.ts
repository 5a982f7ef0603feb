/** Decisions of the page that need no browser: words, times, cards, drawings, and the colours of its style sheet. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cardsOf, countNeeds, nextSteps } from "../../dashboard/src/cards.js";
import {
	crashCluster,
	type DayMark,
	insideOf,
	lastsUntil,
	marksOf,
	moveWindow,
	placeLabels,
} from "../../dashboard/src/day.js";
import {
	renderAge,
	renderBytes,
	renderCount,
	renderLeft,
	renderTook,
	renderUsd,
	visible,
} from "../../dashboard/src/format.js";
import { edgePath, layOut } from "../../dashboard/src/plan-layout.js";
import { crashWords, limitWords } from "../../dashboard/src/policy-words.js";
import { createParser, type SseMessage } from "../../dashboard/src/sse-parser.js";
import { groupAgents, wanted } from "../../dashboard/src/table-order.js";
import { AGENT_STATUS_STATES, STATUS_STYLES } from "../../src/core/agent-status.js";
import { DEFAULT_CRASH_POLICY } from "../../src/core/crash-state.js";
import { toSnakeKeys } from "../../src/core/key-case.js";
import { FLEET, fixtureAgent, largeFleet, PERMISSION } from "./fixture-fleet.js";

describe("the description of the crash policy", () => {
	const settings = toSnakeKeys(DEFAULT_CRASH_POLICY);

	test("names the delay and the limits", () => {
		expect(crashWords(settings)).toBe("it restarts after 2 s");
		expect(limitWords(settings, 1)).toBe(
			"1 crash in a row counted; 3 in 1 min of running slow it down, 5 in a row halt it.",
		);
	});

	test("promises no restart and no halt that the settings rule out", () => {
		const stops = { ...settings, on_failure: "stop" } as const;
		expect(crashWords(stops)).toBe("it is halted until you resume it");
		expect(limitWords(stops, 0)).toBe("Its first failure halts it.");
		const delay = { initial_ms: 1_000, factor: 2, max_ms: 300_000 };
		const never = { ...settings, halt: "never", delay } as const;
		expect(crashWords(never)).toContain("after 1 s, and later with each failure, up to 5 min");
		expect(limitWords(never, 2)).toContain("never halted");
	});
});

describe("numbers", () => {
	test("have units with a space, and two units at most", () => {
		expect([0, 48_000, 240_000, 11_040_000, 7_800_000, 273_600_000].map(renderAge)).toEqual([
			...["0 s", "48 s", "4 min", "3 h 4 min", "2 h 10 min", "3 d 4 h"],
		]);
		expect([400, 29_500, 113_000, 11_520_000].map(renderTook)).toEqual([
			...["0.4 s", "30 s", "1 min 53 s", "3 h 12 min"],
		]);
		expect([1, 23_001, 72_000, 4_320_000].map(renderLeft)).toEqual([
			...["1 s", "24 s", "1 min 12 s", "1 h 12 min"],
		]);
		expect([9.64, 0, 12_345.67].map(renderUsd)).toEqual(["$9.64", "$0.00", "$12,345.67"]);
		expect([812, 48_000, 4_200_000, 548_000_000].map(renderCount)).toEqual([
			"812",
			"48 k",
			"4.2 M",
			"548 M",
		]);
		expect([512, 21e6, 2.1e9].map(renderBytes)).toEqual(["512 B", "21 MB", "2.1 GB"]);
	});
});

describe("foreign text", () => {
	test("is shown literally and never has an effect", () => {
		expect(visible("a\u001b[31mred\u0007")).toBe("a␛[31mred␇");
		expect(visible("user\u202etxt.exe")).toBe("user\ufffdtxt.exe");
		expect(visible("tab\tand\nline")).toBe("tab\tand\nline");
	});

	test("has no control or direction characters left, whatever it was", () => {
		fc.assert(
			fc.property(fc.string({ unit: "binary" }), (text) => {
				// biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be left.
				expect(visible(text)).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
			}),
		);
	});
});

describe("the cards", () => {
	test("come in a fixed order: questions, failures, circuits, dead letters; oldest first", () => {
		const cards = cardsOf(FLEET, []);
		expect(cards.map(({ kind, agents: [agent] }) => `${kind} ${agent?.id}`)).toEqual([
			"ended ops:nightly",
			"question api:migrator",
			"question shop:coder",
			"halted api:coder",
			"circuit_open api:search",
			"dead_letters ops:deploy",
		]);
		expect(countNeeds(cards)).toBe(6);
	});

	test("join three of the same kind and cause, and count each", () => {
		const same = [1, 2, 3].map((n) =>
			fixtureAgent(`p:a${n}`, { state: "halted", why: `Crashed ${n} times`, sinceMs: n * 1_000 }),
		);
		const cards = cardsOf(same, []);
		expect(cards).toHaveLength(1);
		expect(countNeeds(cards)).toBe(3);
		expect(cardsOf(same.slice(1), [])).toHaveLength(2);
	});

	test("never join free questions, and keep their key while the question is the same", () => {
		const asks = (id: string, question: string) =>
			fixtureAgent(id, {
				...{ state: "asks_you", why: "?", sinceMs: 1 },
				question: { ...PERMISSION, id: question, kind: "text", choices: [], detail: null },
			});
		const cards = cardsOf([asks("p:a", "1"), asks("p:b", "2"), asks("p:c", "3")], []);
		expect(cards).toHaveLength(3);
		expect(cardsOf([asks("p:a", "1")], [])[0]?.key).toBe(
			cards.find(({ agents }) => agents[0]?.id === "p:a")?.key,
		);
		expect(cardsOf([asks("p:a", "9")], [])[0]?.key).not.toBe(cards[0]?.key);
	});

	test("include messages that could not be delivered, and no others", () => {
		const message = (phase: "dead" | "queued") => ({
			...{ id: phase, agent: "shop:tests", text: "hi", accepted_at: "2026-06-15T14:00:00Z" },
			...{ phase, attempts: 1, reason: "its folder is gone" },
		});
		const cards = cardsOf(FLEET, [message("dead"), message("queued")]);
		expect(cards.at(-1)).toMatchObject({ kind: "undelivered", key: "m:dead" });
		expect(cards).toHaveLength(7);
	});

	test("list Reeve's next automatic steps, soonest first", () => {
		expect(nextSteps(FLEET).map(({ text }) => text)).toEqual([
			"api:tester restarts",
			"api:search lets one call through",
			"shop:docs: its limit lifts",
		]);
	});
});

test("the table shows every agent that has all words of the filter", () => {
	const found = (text: string) => FLEET.filter((agent) => wanted(agent, text)).map(({ id }) => id);
	expect(found("codex shop")).toEqual(["shop:reviewer"]);
	expect(found("")).toHaveLength(14);
	expect(found("asks permission")).toEqual(["shop:coder"]);
	const groups = groupAgents(FLEET, "project", { "shop:coder": [1_000, 1] });
	expect(groups.map(({ name, memoryBytes }) => [name, memoryBytes])).toEqual([
		...[["shop", 1_000] as const, ["api", null] as const, ["ops", null] as const],
	]);
	const [first] = groupAgents(largeFleet(500), "project", {});
	expect(first?.agents[0]?.status.needs_you).toBe(true);
});

describe("drawings", () => {
	test("put exits that are close into one mark, with the worst kind", () => {
		const marks = marksOf(
			{
				runs: [
					[0, 100, "out_of_memory", null],
					[105, 110, "crash", "transient"],
					[115, 120, "crash", "transient"],
					[200, 5_000, "requested", null],
					[5_000, null, null, null],
				],
			},
			60,
		);
		expect(marks.map(({ label, kind, count }) => [label, kind, count])).toEqual([
			["out of memory, then 2 crashes", "failed", 3],
			["stopped on request", "asked", 1],
		]);
	});

	test("label failures before limits and requests, and never on top of each other", () => {
		const mark = (at: number, kind: DayMark["kind"], label: string) => ({
			at,
			kind,
			label,
			count: 1,
		});
		const marks = [
			mark(100, "asked", "stopped on request"),
			mark(150, "failed", "out of memory"),
			mark(500, "limited", "usage limit"),
			mark(980, "failed", "crash"),
			mark(995, "asked", "stopped on request"),
		];
		const at = { widthOf: (label: string) => label.length * 6, width: 1_000 };
		const placed = placeLabels(marks, (second) => second, at);
		expect(placed.map(({ mark: { label }, anchor }) => [label, anchor])).toEqual([
			["crash", "end"],
			["out of memory", "start"],
			["usage limit", "start"],
		]);
	});

	test("end now, and what was going on when they were read lasts until then", () => {
		const read = { from: 0, to: 86_400 };
		expect(moveWindow(read, 0)).toEqual({ ...read, readTo: 86_400 });
		const window = moveWindow(read, 90_000);
		expect(window).toEqual({ from: 3_600, to: 90_000, readTo: 86_400 });
		expect([null, 86_400, 86_000].map((end) => lastsUntil(end, window))).toEqual([
			90_000, 90_000, 86_000,
		]);
		const runs = [
			[0, 3_000, "crash", "transient"],
			[3_010, 4_000, "crash", "transient"],
			[4_010, null, null, null],
		] as const;
		expect(insideOf({ runs, work: [[0, 10]], waits: [] }, window)).toEqual({
			...{ runs: runs.slice(1), work: [], waits: [] },
		});
	});

	test("zoom into the latest cluster of exits, or nowhere", () => {
		const runs = [
			{ started: 0, ended: 1_000 },
			{ started: 1_030, ended: 1_040 },
			{ started: 1_042, ended: null },
		];
		const cluster = crashCluster(runs);
		expect(cluster?.from).toBeLessThan(1_000);
		expect(cluster?.to).toBeGreaterThan(1_040);
		expect(
			crashCluster([
				{ started: 0, ended: 1 },
				{ started: 9_000, ended: 9_001 },
			]),
		).toBe(null);
	});

	test("lay a plan out from left to right, each task after those it waits for", () => {
		const nodes = [
			{ name: "push", depends_on: ["web", "api"] },
			{ name: "web", depends_on: ["fetch"] },
			{ name: "api", depends_on: ["fetch"] },
			{ name: "fetch", depends_on: [] },
		];
		const { spots, width, height } = layOut(nodes);
		const x = (name: string) => spots.get(name)?.x ?? -1;
		expect(x("fetch")).toBeLessThan(x("web"));
		expect(x("web")).toBe(x("api"));
		expect(x("api")).toBeLessThan(x("push"));
		expect([width, height].every((size) => size > 0)).toBe(true);
		const [from, to] = [spots.get("fetch"), spots.get("web")];
		if (from && to) expect(edgePath(from, to)).not.toContain("NaN");
	});

	test("handle an impossible plan", () => {
		const { spots } = layOut([
			{ name: "a", depends_on: ["b"] },
			{ name: "b", depends_on: ["a", "gone"] },
		]);
		expect(spots.size).toBe(2);
	});
});

test("events are read whatever the pieces in which they arrive", () => {
	const text = 'id: 7\ndata: {"seq":7}\n\nid: 8\n: still here\n\nevent: resources\ndata: {}\n\n';
	fc.assert(
		fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 40 }), (sizes) => {
			const found: SseMessage[] = [];
			const parse = createParser((message) => found.push(message));
			let at = 0;
			for (const size of [...sizes, text.length]) {
				parse(text.slice(at, at + size));
				at += size;
			}
			expect(found).toEqual([
				{ event: "message", id: "7", data: '{"seq":7}' },
				{ event: "message", id: "8", data: "" },
				{ event: "resources", id: null, data: "{}" },
			]);
		}),
	);
});

test("every state has a word, a shape and a colour, and each is distinguishable from all others", () => {
	for (const state of AGENT_STATUS_STATES) {
		const { word, shape, tone } = STATUS_STYLES[state];
		expect(
			[word, shape, tone].every((part) => part.length > 0),
			state,
		).toBe(true);
		expect(word, state).toMatch(/^[A-Z][a-z, ]+$/);
	}
	const words = AGENT_STATUS_STATES.map((state) => STATUS_STYLES[state].word);
	expect(new Set(words).size).toBe(words.length);
});

describe("the colours", () => {
	const css = readFileSync("dashboard/src/styles.css", "utf8");
	const color = (name: string) => {
		const [, light, dark] =
			new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(css) ?? [];
		if (light === undefined || dark === undefined) throw new Error(`--${name} is not a pair`);
		return { light, dark };
	};
	const texts = ["ink", "ink-2", "ink-3", "red", "amber-ink", "blue", "green"];
	const cases = texts.flatMap((text) =>
		["surface", "bg", "sunken", "hover"].map((ground) => [text, ground] as const),
	);

	test.each(cases)("%s on %s can be read in both themes", (text, ground) => {
		for (const theme of ["light", "dark"] as const) {
			expect(contrast(color(text)[theme], color(ground)[theme])).toBeGreaterThanOrEqual(4.5);
		}
	});

	test.each(["edge", "amber", "red", "blue", "green"])(
		"%s can be seen as a mark or a border",
		(name) => {
			for (const theme of ["light", "dark"] as const) {
				for (const ground of ["surface", "bg"]) {
					expect(contrast(color(name)[theme], color(ground)[theme])).toBeGreaterThanOrEqual(3);
				}
			}
		},
	);

	test("notices and warnings can be read on their tint", () => {
		for (const theme of ["light", "dark"] as const) {
			expect(contrast(color("ink")[theme], color("amber-tint")[theme])).toBeGreaterThanOrEqual(4.5);
		}
	});
});

/** The contrast of two colours by WCAG. */
function contrast(a: string, b: string): number {
	const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
	return (high + 0.05) / (low + 0.05);
}

function luminance(hex: string): number {
	const [r = 0, g = 0, b = 0] = [1, 3, 5]
		.map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
		.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
