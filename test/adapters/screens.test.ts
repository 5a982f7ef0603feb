/**
 * Readings of real screens, each labelled with the activity at that time. The screen is the last
 * resort, so mistakes are counted instead of forbidden; a wrong `ready` is the worst of them, since a
 * message would be typed into it.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ScreenProfile } from "../../src/core/adapter.js";
import { nextKey, readScreen } from "../../src/core/screen.js";
import { causeOfText } from "../../src/core/turn-failure.js";
import { adapterOf } from "../../src/sessions/adapters.js";

const FIXTURES = join(import.meta.dirname, "../fixtures");
const CLIS = ["claude", "codex", "gemini", "opencode", "pi"];

interface Labelled {
	readonly name: string;
	readonly label: string;
	readonly seen: string;
}

function profileOf(cli: string): ScreenProfile {
	const { screen } = adapterOf({ adapter: cli, profile: null }).profile;
	if (screen === null) throw new Error(`the screen of ${cli} is not supported`);
	return screen;
}

function read(cli: string, file: string, set = "screens"): { label: string; text: string } {
	const whole = readFileSync(join(FIXTURES, set, cli, file), "utf8");
	const [head = "", ...rest] = whole.split("---\n");
	return { label: /^label: (\w+)/m.exec(head)?.[1] ?? "", text: rest.join("---\n") };
}

const screensIn = (set: string) =>
	CLIS.flatMap((cli) =>
		readdirSync(join(FIXTURES, set, cli))
			.filter((file) => file.endsWith(".txt"))
			.map((file): Labelled => {
				const { label, text } = read(cli, file, set);
				return { name: `${cli}/${file}`, label, seen: readScreen(profileOf(cli), text).activity };
			}),
	);

/** Text that streams without any other sign; codex reports it in its transcript. */
const STREAMING = /^codex\/(\w+-)?busy-(streaming|early|late)/;

describe.each([
	["the screens that the patterns were written from", "screens"],
	["screens of other sizes, with answers that mislead", "misleading-screens"],
	["such screens that were taken afterwards", "unseen-screens"],
])("activities read from %s", (_, set) => {
	const screens = screensIn(set);
	const isRight = ({ label, seen }: Labelled) => label === seen;

	test("are right nearly always, and the rest is reported", () => {
		const rows = ["ready", "busy", "waiting_input", "rate_limited"].flatMap((label) => {
			const right = screens.filter((each) => each.label === label && isRight(each)).length;
			const seen = screens.filter((each) => each.seen === label).length;
			const there = screens.filter((each) => each.label === label).length;
			const [precision, recall] = [right / Math.max(1, seen), right / Math.max(1, there)];
			return there + seen === 0 ? [] : [{ label, there, seen, precision, recall }];
		});
		console.table(rows);
		console.table(screens.filter((each) => !isRight(each)));
		const unexpected = screens.filter((each) => !isRight(each) && !STREAMING.test(each.name));
		expect(unexpected.length / screens.length).toBeLessThanOrEqual(0.02);
	});

	test("are never `ready` while a person is asked something", () => {
		const asking = screens.filter(({ label }) => label === "waiting_input");
		expect(asking.length).toBeGreaterThan(0);
		expect(asking.filter((each) => !isRight(each))).toEqual([]);
	});

	test("never report a limit that does not exist: it would park all agents of an account", () => {
		const limited = screens.filter(({ seen }) => seen === "rate_limited");
		expect(limited.filter((each) => !isRight(each))).toEqual([]);
	});
});

test("only gemini's screen shows that a tool is running", () => {
	const inTool = readdirSync(join(FIXTURES, "screens/gemini")).filter(
		(file) => readScreen(profileOf("gemini"), read("gemini", file).text).inTool,
	);
	expect(inTool).toEqual(["busy-tool-1.txt", "busy-tool-2.txt"]);
});

describe("questions that Reeve answers", () => {
	test.each([
		["claude/dialog-trust-1.txt", "trust", "down"],
		["claude/dialog-bypass-permissions-1.txt", "bypass_permissions", "down"],
		["claude/dialog-api-key-1.txt", "api_key", "up"],
		["gemini/dialog-trust-1.txt", "trust", "enter"],
		["gemini/failed-limit-1.txt", "failed_request", "down"],
		["gemini/failed-404-1.txt", "failed_request", "down"],
	])("%s is known as %s, and answered by label: %s comes first", (path, name, key) => {
		const [cli = "", file = ""] = path.split("/");
		const { text } = read(cli, file);
		const { dialog } = readScreen(profileOf(cli), text);
		expect(dialog?.name).toBe(name);
		if (dialog !== null) expect(nextKey(text, dialog)?.key ?? null).toBe(key);
	});

	test("are confirmed only when the wanted choice is the selected one", () => {
		const dialog = { name: "d", when: "Go on", choose: "^Yes" };
		const screen = (selected: number) =>
			["No, exit", "Maybe", "Yes, go on"]
				.map((label, n) => `${n === selected ? "❯" : " "} ${n + 1}. ${label}`)
				.join("\n");
		expect([0, 1, 2].map((n) => nextKey(screen(n), dialog)?.key)).toEqual([
			"down",
			"down",
			"enter",
		]);
		expect(nextKey("Go on? (y/n)", dialog)).toBeNull();
	});
});

test.each([
	["✻ 529 Overloaded · Retrying in 13s · attempt 8/10", "overloaded"],
	["✻ 401 This key was revoked. · Retrying in 1m 5s · attempt 3/10", "auth"],
	["✻ 5-hour limit reached · Retrying in 11s (10:26pm) · attempt 8/10", "usage_limit"],
	["✻ Weekly limit reached · Retrying in 2h 3m (Nov 20, 4am) · attempt 2/10", "usage_limit"],
])("the line of a retry of claude has its cause: %s", (line, cause) => {
	const rule = "─".repeat(80);
	const text = `❯ go on\n\n${line}\n\n${rule}\n❯ \n${rule}\n  ? for shortcuts · esc to interrupt\n`;
	const { retrying, activity } = readScreen(profileOf("claude"), text);
	expect({ retrying, activity }).toEqual({ retrying: line, activity: "busy" });
	expect(causeOfText(line)).toBe(cause);
});
