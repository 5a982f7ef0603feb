import { describe, expect, test } from "vitest";
import type { ScreenProfile } from "./adapter.js";
import { keyTowards, readQuestion } from "./question-screen.js";

const NO_QUESTIONS: ScreenProfile = {
	dialogs: [],
	rateLimited: [],
	waitingInput: [],
	busy: [],
	ready: [],
};
const PROFILE: ScreenProfile = {
	...NO_QUESTIONS,
	questions: {
		permission: ["Do you want"],
		subject: ["^ *Command: (.*)$"],
		first: ["^Request"],
		row: "^\\[(.*)\\]$",
	},
};

const lines = (...texts: string[]) => texts.join("\n");
const labels = (text: string, profile = PROFILE) =>
	readQuestion(profile, text)?.choices.map(({ label }) => label) ?? null;

describe("a question on the screen", () => {
	test("is read with its subject, its choices and what they allow", () => {
		const text = lines(
			"old output",
			"Request 1",
			"  Command: rm -rf build",
			"╌╌╌╌╌╌╌╌╌╌",
			"Do you want to proceed?",
			"❯ 1. Yes",
			"  2. Yes, and don't ask again",
			"  3. No, always refuse",
		);
		expect(readQuestion(PROFILE, text)).toMatchObject({
			kind: "permission",
			title: "Do you want to proceed?",
			text: "rm -rf build",
			detail: "Request 1\nCommand: rm -rf build",
			choices: [{ lasting: false }, { lasting: true }, { lasting: false }],
			selected: 0,
			inRow: false,
		});
	});

	test("of a CLI without patterns has the last line that asks, or the last line, as its title", () => {
		const list = ["> 1. a", "  2. b"];
		const title = (...above: string[]) =>
			readQuestion(NO_QUESTIONS, lines(...above, ...list))?.title;
		expect(title("────────────", "Which one?", "some detail")).toBe("Which one?");
		expect(title("Choose one")).toBe("Choose one");
		expect(readQuestion(NO_QUESTIONS, lines(...list))).toMatchObject({
			kind: "choice",
			title: "",
			text: "a / b",
			detail: null,
		});
	});

	test("whose title is a lasting grant marks every choice but the refusal", () => {
		const text = lines("Do you want to always allow it?", "❯ 1. Confirm", "  2. Cancel");
		const { choices = [] } = readQuestion(PROFILE, text) ?? {};
		expect(choices.map(({ lasting }) => lasting)).toEqual([true, false]);
	});

	test("may continue a label on the next line, and separate its last choices", () => {
		const long = lines("Which?", "❯ 1. a long", "     label", "  2. b", "", "  3. c", "", "footer");
		expect(labels(long)).toEqual(["a long label", "b", "c"]);
		const ruled = lines("Which?", "❯ 1. a", "  2. b", "──────────", "  3. c", "──────────", "x");
		expect(labels(ruled)).toEqual(["a", "b", "c"]);
		expect(labels(lines("Which?", "❯ 1. a", "  2. b", "Esc to cancel"))).toEqual(["a", "b"]);
	});

	test.each([
		["without choices", "Which?"],
		["with one choice", lines("Which?", "❯ 1. a")],
		["whose first choice is not on the screen", lines("❯ 2. b", "  3. c")],
		["without a selection", lines("Which?", "  1. a", "  2. b")],
		["with two marks", lines("Which?", "❯ 1. a", "❯ 2. b")],
		[
			"with more choices than any CLI offers",
			lines("Which?", "❯ 1. a", ...Array.from({ length: 12 }, (_, n) => `  ${n + 2}. b`)),
		],
	])("%s is none that can be answered", (_case, text) => {
		expect(readQuestion(PROFILE, text)).toBeNull();
	});
});

describe("choices beside each other", () => {
	const text = lines("Do you want it?", "[Allow once   Allow always   Reject]");
	const read = (...marked: string[]) =>
		readQuestion(
			PROFILE,
			text,
			marked.map((label) => ({ row: 1, text: label })),
		);

	test("are read when exactly one is highlighted", () => {
		expect(read(" Allow always ")).toMatchObject({ selected: 1, inRow: true });
		expect(read()).toBeNull();
		expect(read("Allow once", "Reject")).toBeNull();
	});

	test("are reached with left and right, others with up and down", () => {
		const row = read("Allow always");
		const list = readQuestion(PROFILE, lines("Which?", "  1. a", "❯ 2. b", "  3. c"));
		if (row === null || list === null) throw new Error("the questions were not read");
		expect([0, 1, 2].map((wanted) => keyTowards(row, wanted))).toEqual(["left", "enter", "right"]);
		expect([0, 1, 2].map((wanted) => keyTowards(list, wanted))).toEqual(["up", "enter", "down"]);
	});
});
