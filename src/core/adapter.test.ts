import { describe, expect, it } from "vitest";
import { fillFirst, fillIn } from "./adapter.js";

const values = { home: "/home/me", conversation: "c-1", CODEX_HOME: "/codex" };

describe("placeholders", () => {
	it.each([
		["--session-id", "--session-id"],
		["<conversation>", "c-1"],
		["<home>/.x/<conversation>.jsonl", "/home/me/.x/c-1.jsonl"],
		["<CODEX_HOME>/sessions", "/codex/sessions"],
		// Text that is not a placeholder belongs to the user.
		["a <b> c", "a <b> c"],
		["<toString>", "<toString>"],
		["x < y > z", "x < y > z"],
	])("%s becomes %s", (text, filled) => {
		expect(fillIn(text, values)).toBe(filled);
	});

	it("an unset variable makes the whole text unavailable", () => {
		expect(fillIn("<CLAUDE_CONFIG_DIR>/.claude.json", values)).toBeNull();
	});

	it("the first text that can be filled in counts", () => {
		const ways = ["<CLAUDE_CONFIG_DIR>/.claude.json", "<home>/.claude.json"];
		expect(fillFirst(ways, values)).toBe("/home/me/.claude.json");
		expect(fillFirst(ways, { ...values, CLAUDE_CONFIG_DIR: "/c" })).toBe("/c/.claude.json");
		expect(fillFirst([], values)).toBeNull();
	});
});
