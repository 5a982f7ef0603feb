/** The questions of real CLIs, read from their screens and hooks. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { claude } from "../../src/adapters/claude.js";
import { codex } from "../../src/adapters/codex.js";
import { gemini } from "../../src/adapters/gemini.js";
import { opencode } from "../../src/adapters/opencode.js";
import { keyTowards, readQuestion } from "../../src/core/question-screen.js";
import type { AgentAdapter } from "../../src/ports/adapter.js";

const FIXTURES = join(import.meta.dirname, "../fixtures");

function screenOf(path: string): string {
	const [, text = ""] = readFileSync(join(FIXTURES, path), "utf8").split("\n---\n");
	return text;
}

function read({ profile }: AgentAdapter, text: string, selected?: string) {
	if (profile.screen === null) throw new Error("no screen");
	const row = text.split("\n").findLastIndex((line) => selected && line.includes(selected));
	return readQuestion(profile.screen, text, selected ? [{ row, text: ` ${selected} ` }] : []);
}

const labels = (question: ReturnType<typeof read>) =>
	question?.choices.map(({ label, lasting }) => (lasting ? `${label} (lasting)` : label));

describe("a permission prompt is read with its choices", () => {
	test("of claude", () => {
		const question = read(claude, screenOf("screens/claude/asking-1.txt"));
		expect(question).toMatchObject({
			kind: "permission",
			title: "Do you want to proceed?",
			text: "touch /tmp/reeve-real-touched",
			selected: 0,
		});
		expect(question?.detail).toContain("Bash command");
		expect(labels(question)).toEqual([
			"Yes",
			"Yes, and always allow access to /tmp from this project (lasting)",
			"Yes, and switch to auto mode · auto mode handles these prompts for you (lasting)",
			"No",
		]);
	});

	test("of codex, whose long labels continue on the next line", () => {
		const question = read(codex, screenOf("unseen-screens/codex/100x36-asking-1.txt"));
		expect(question).toMatchObject({
			kind: "permission",
			title: "Would you like to run the following command?",
			text: "touch /home/dev/touched-by-a-tool-with-a-long-name",
		});
		expect(labels(question)).toEqual([
			"Yes, proceed (y)",
			"Yes, and don't ask again for commands that start with `touch /home/dev/ touched-by-a-tool-with-a-long-name` (p) (lasting)",
			expect.stringMatching(/^No, and .* differently \(esc\)$/),
		]);
	});

	test("of gemini, inside a frame", () => {
		const question = read(gemini, screenOf("screens/gemini/asking-1.txt"));
		expect(question).toMatchObject({
			kind: "permission",
			title: "Allow execution of [Shell]?",
			text: "touch /tmp/reeve-real-touched",
		});
		expect(labels(question)).toEqual([
			"Allow once",
			"Allow for this session (lasting)",
			"No, suggest changes (esc)",
		]);
	});

	test("of opencode, in a row, where only the colour marks the selection", () => {
		const text = screenOf("screens/opencode/asking-1.txt");
		expect(read(opencode, text)).toBeNull();
		const question = read(opencode, text, "Allow always");
		expect(question).toMatchObject({
			kind: "permission",
			text: "Access external directory ~",
			selected: 1,
			inRow: true,
		});
		expect(labels(question)).toEqual(["Allow once", "Allow always (lasting)", "Reject"]);
		if (question === null) throw new Error("no question");
		expect([0, 1, 2].map((wanted) => keyTowards(question, wanted))).toEqual([
			"left",
			"enter",
			"right",
		]);
	});
});

describe("a screen without a complete question", () => {
	const asking = screenOf("screens/claude/asking-1.txt");

	test("has no selection while it is painted", () => {
		expect(read(claude, asking.replace("❯ 1. Yes", "  1. Yes"))).toBeNull();
	});

	test("shows two selections while it is painted", () => {
		expect(read(claude, asking.replace("  4. No", "❯ 4. No"))).toBeNull();
	});

	test("is another question when its command differs", () => {
		const other = asking.replaceAll("reeve-real-touched", "reeve-real-removed");
		expect(read(claude, other)?.key).not.toBe(read(claude, asking)?.key);
	});

	test("is the same question wherever the selection is", () => {
		const moved = asking.replace("❯ 1. Yes", "  1. Yes").replace("  4. No", "❯ 4. No");
		expect(read(claude, moved)?.selected).toBe(3);
		expect(read(claude, moved)?.key).toBe(read(claude, asking)?.key);
	});
});

describe("a hook reports a question", () => {
	const reader = { resetAtMs: () => null };

	test("of claude: the command that needs permission, or the question to the user", () => {
		const bash = { tool_name: "Bash", tool_input: { command: "npm run db:migrate" } };
		expect(claude.readRecord?.("PermissionRequest", bash, reader)?.question).toEqual({
			kind: "permission",
			text: "Bash: npm run db:migrate",
		});
		const questions = [{ question: "Keep the column, or drop it?", options: [] }];
		const ask = { tool_name: "AskUserQuestion", tool_input: { questions } };
		expect(claude.readRecord?.("PermissionRequest", ask, reader)?.question).toEqual({
			kind: "choice",
			text: "Keep the column, or drop it?",
		});
	});

	test("of opencode", () => {
		const data = { permission: "bash", patterns: ["touch *"] };
		expect(opencode.readRecord?.("permission.asked", data, reader)?.question).toEqual({
			kind: "permission",
			text: "bash: touch *",
		});
	});
});
