import { describe, expect, test } from "vitest";
import type { DialogProfile, ScreenProfile } from "./adapter.js";
import {
	conversationText,
	findLimit,
	isLoading,
	nextKey,
	readScreen,
	stillText,
} from "./screen.js";
import { shorten } from "./sign.js";

const TRUST: DialogProfile = { name: "trust", when: "Do you trust", choose: "^Yes" };
const SCREEN: ScreenProfile = {
	dialogs: [TRUST],
	rateLimited: ["limit reached"],
	waitingInput: ["Allow\\?"],
	busy: ["esc to interrupt"],
	ready: ["^> $"],
};

const asked = (...choices: string[]) => ["Do you trust this folder?", ...choices].join("\n");

describe("a question", () => {
	const profile = {
		ready: ["^❯(\\s|$)"],
		busy: ["· esc to interrupt"],
		rateLimited: [],
		waitingInput: ["^\\s*❯ \\d+\\. ", "Esc to cancel · Tab to amend"],
		dialogs: [{ name: "trust", when: "Do you trust", choose: "^Yes" }],
		questionsReplaceInput: true,
	};
	const choices = "Do you trust it?\n ❯ 1. Yes\n   2. No";
	const PROMPT = "\n────\n❯ \n────\n  ? for shortcuts";

	test("is one in the place of the prompt", () => {
		expect(readScreen(profile, `❯ go\n\n${choices}\n Esc to cancel · Tab to amend`)).toMatchObject({
			activity: "waiting_input",
			dialog: { name: "trust" },
		});
	});

	test("comes first if that is unknown", () => {
		const plain = { ...profile, questionsReplaceInput: false };
		expect(readScreen(plain, `${choices}${PROMPT}`).activity).toBe("waiting_input");
	});

	test("that is unknown also hides the input", () => {
		const screen = "❯ go\n\n We're changing how this works\n Press any key";
		expect(readScreen({ ...profile, ready: ["^─+\\n❯"] }, screen)).toMatchObject({
			activity: "unknown",
			hidesInput: true,
		});
	});

	test("above the prompt is ordinary text", () => {
		const text = `${choices}\n Esc to cancel · Tab to amend`;
		const shown = { activity: "ready", dialog: null };
		expect(readScreen(profile, `${text}${PROMPT}`)).toMatchObject(shown);
		expect(readScreen(profile, `${text}${PROMPT} · esc to interrupt`).activity).toBe("busy");
	});
});

describe("a dialog", () => {
	test.each([
		["the wanted choice is selected", asked("│ ❯ 1. Yes, I do │", "│   2. No, exit │"), "enter"],
		["it stands above what is selected", asked("   1. Yes, I do", " ❯ 2. No, exit"), "up"],
		["it stands below what is selected", asked(" ❯ 1. No, exit", "   2. Yes, I do"), "down"],
		["it is not there: nothing is confirmed", asked(" ❯ 1. No, exit"), null],
		["nothing is selected", asked("   1. Yes, I do", "   2. No, exit"), null],
		["what is selected is far away", asked(" ❯ No", ..."\n".repeat(14).split(""), "   Yes"), null],
	] as const)("when %s", (_, text, key) => {
		expect(nextKey(text, TRUST)?.key ?? null).toBe(key);
	});

	test("is a question; one whose choices are not seen is none that can be answered", () => {
		expect(readScreen(SCREEN, asked(" ❯ 1. Yes"))).toEqual({
			activity: "waiting_input",
			besidesLimit: "waiting_input",
			inTool: false,
			retrying: null,
			hidesInput: false,
			dialog: TRUST,
		});
		expect(readScreen(SCREEN, "Do you trust me? a user wrote")).toEqual({
			activity: "unknown",
			besidesLimit: "unknown",
			inTool: false,
			retrying: null,
			hidesInput: false,
			dialog: null,
		});
	});
});

test.each([
	["a limit before a question", "limit reached\nAllow?", "rate_limited"],
	["a question before work", "Allow?\nesc to interrupt", "waiting_input"],
	["work before the prompt beside it", "(esc to interrupt)\n> ", "busy"],
	["the prompt", "> ", "ready"],
	["nothing that is known", "make: done", "unknown"],
])("the screen shows %s", (_, text, activity) => {
	expect(readScreen(SCREEN, text).activity).toBe(activity);
});

test("of several lines about a limit the lowest counts", () => {
	expect(findLimit(SCREEN, "limit reached: 3pm\nwork\nlimit reached: 5pm\n> ")).toBe(
		"limit reached: 5pm",
	);
	expect(findLimit(SCREEN, "> ")).toBe(null);
});

test.each([
	["claude", "·✢✳✶✻✽*"],
	["codex", "•◦"],
	["gemini, pi and others", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"],
	["opencode", "■⬝▣⬥◆"],
])("an animation is not progress: the spinner of %s", (_, frames) => {
	const shown = [...frames].map((frame, n) => stillText(`${frame} Working ${n}s\n❯ `));
	expect(new Set(shown).size).toBe(1);
});

test("new text is progress", () => {
	expect(stillText("Musing… (9s · ↑ 980 tokens)")).toBe(
		stillText("Musing… (1m 2s · ↑ 1.2k tokens)"),
	);
	expect(stillText("Working 12s")).not.toBe(stillText("Reading 12s"));
});

test("text of a CLI is shown on one line of limited length", () => {
	expect(shorten(" two\n lines ")).toBe("two lines");
	expect(shorten("x".repeat(400))).toBe(`${"x".repeat(300)}…`);
});

describe("a screen", () => {
	test("of a CLI that resumes is loading until it shows the conversation", () => {
		expect(isLoading(SCREEN, "anything")).toBe(false);
		const resumed = { ...SCREEN, resumed: ["resumed on"] };
		expect(isLoading(resumed, "starting")).toBe(true);
		expect(isLoading(resumed, "resumed on Monday")).toBe(false);
	});

	test("shows the lowest line with a limit, if there is one", () => {
		expect(findLimit(SCREEN, "limit reached: 1\nlimit reached: 2\n> ")).toBe("limit reached: 2");
		expect(findLimit(SCREEN, "> ")).toBeNull();
		expect(findLimit({ ...SCREEN, rateLimited: [] }, "limit reached")).toBeNull();
	});

	test.each([
		["alone on the last line", "work\nRetrying in 3 s", "Retrying in 3 s"],
		["with the error below it", "Retrying in 3 s\n  └ 503", "Retrying in 3 s   └ 503"],
		["above other text", "Retrying in 3 s\nother", "Retrying in 3 s"],
		["not at all", "work", null],
	])("shows a retry %s", (_case, text, retrying) => {
		expect(readScreen({ ...SCREEN, retrying: ["^Retrying"] }, text).retrying).toBe(retrying);
	});

	test("shows a tool, and hides no input while it is empty", () => {
		const profile = { ...SCREEN, inTool: ["^Bash"], questionsReplaceInput: true };
		expect(readScreen(profile, "Bash(ls)")).toMatchObject({ inTool: true, hidesInput: true });
		expect(readScreen(profile, "  \n ")).toMatchObject({ inTool: false, hidesInput: false });
	});

	test("with the menu of a limit asks no person", () => {
		const text = asked(" ❯ 1. Yes", "   2. No");
		const at = (where: "limit" | "failure") => ({ ...SCREEN, dialogs: [{ ...TRUST, at: where }] });
		expect(readScreen(at("limit"), text).activity).toBe("rate_limited");
		expect(readScreen(at("failure"), text).activity).toBe("waiting_input");
		expect(readScreen(at("failure"), `limit reached\n${text}`).activity).toBe("rate_limited");
	});

	test("shows the conversation above the line of the work", () => {
		expect(conversationText(SCREEN, "Hello\n* 3s · esc to interrupt\n> ")?.trim()).toBe("Hello");
		expect(conversationText(SCREEN, "Hello\n> ")).toBeNull();
	});
});
