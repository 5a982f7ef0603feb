/**
 * What is read from real screens, each with the label of what the agent did when it was taken. The screen
 * is the last resort, so mistakes are counted rather than forbidden; a wrong `ready` is the worst of
 * them, since something would be typed into it.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ScreenProfile } from "../../src/core/adapter.js";
import { nextKey, readScreen } from "../../src/core/screen.js";
import { adapterOf } from "../../src/daemon/adapters.js";

const FOLDER = join(import.meta.dirname, "../fixtures/screens");
const CLIS = ["claude", "codex", "gemini", "opencode", "pi"];

interface Labelled {
	readonly name: string;
	readonly label: string;
	readonly seen: string;
}

function profileOf(cli: string): ScreenProfile {
	const { screen } = adapterOf({ adapter: cli, profile: null }).profile;
	if (screen === null) throw new Error(`nothing is known of the screen of ${cli}`);
	return screen;
}

function read(cli: string, file: string): { label: string; text: string } {
	const whole = readFileSync(join(FOLDER, cli, file), "utf8");
	const [head = "", ...rest] = whole.split("---\n");
	return { label: /^label: (\w+)/m.exec(head)?.[1] ?? "", text: rest.join("---\n") };
}

const screens = CLIS.flatMap((cli) =>
	readdirSync(join(FOLDER, cli))
		.filter((file) => file.endsWith(".txt"))
		.map((file): Labelled => {
			const { label, text } = read(cli, file);
			return { name: `${cli}/${file}`, label, seen: readScreen(profileOf(cli), text).activity };
		}),
);

describe("activities read from the screen", () => {
	test("are right nearly always, and the rest is reported", () => {
		const rows = ["ready", "busy", "waiting_input", "rate_limited"].map((label) => {
			const right = screens.filter((each) => each.label === label && each.seen === label).length;
			const seen = screens.filter((each) => each.seen === label).length;
			const there = screens.filter((each) => each.label === label).length;
			return {
				label,
				there,
				precision: right / Math.max(1, seen),
				recall: right / Math.max(1, there),
			};
		});
		console.table(rows);
		console.table(screens.filter(({ label, seen }) => label !== seen));
		for (const { label, there, precision, recall } of rows) {
			if (there === 0) continue;
			expect(precision, `precision of ${label}`).toBeGreaterThanOrEqual(0.9);
			expect(recall, `recall of ${label}`).toBeGreaterThanOrEqual(0.9);
		}
	});

	test("tell that a tool runs, where nothing else does", () => {
		const inTool = readdirSync(join(FOLDER, "gemini")).filter(
			(file) => readScreen(profileOf("gemini"), read("gemini", file).text).inTool,
		);
		expect(inTool).toEqual(["busy-tool-1.txt", "busy-tool-2.txt"]);
	});

	test("are never `ready` while a person is asked something", () => {
		const wrong = screens.filter(
			({ label, seen }) => label === "waiting_input" && seen === "ready",
		);
		expect(wrong).toEqual([]);
	});
});

describe("questions at the start", () => {
	test.each([
		["claude/dialog-trust-1.txt", "trust", "down"],
		["claude/dialog-bypass-permissions-1.txt", "bypass_permissions", "down"],
		["claude/dialog-api-key-1.txt", "api_key", "up"],
		["gemini/dialog-trust-1.txt", "trust", "enter"],
	])("%s is known as %s, and answered by label: %s comes first", (path, name, key) => {
		const [cli = "", file = ""] = path.split("/");
		const { text } = read(cli, file);
		const { dialog } = readScreen(profileOf(cli), text);
		expect(dialog?.name).toBe(name);
		if (dialog !== null) expect(nextKey(text, dialog)).toBe(key);
	});

	test("are confirmed only when the wanted choice is the selected one", () => {
		const dialog = { name: "d", when: "Go on", choose: "^Yes" };
		const screen = (selected: number) =>
			["No, exit", "Maybe", "Yes, go on"]
				.map((label, n) => `${n === selected ? "❯" : " "} ${n + 1}. ${label}`)
				.join("\n");
		expect([0, 1, 2].map((n) => nextKey(screen(n), dialog))).toEqual(["down", "down", "enter"]);
		expect(nextKey("Go on? (y/n)", dialog)).toBeNull();
	});
});
