import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDetachMatcher, parseDetachKeys } from "./detach-keys.js";

/** The input that reaches the agent, and the chunk after which it was detached. */
function type(keys: string, ...chunks: readonly string[]) {
	const matcher = createDetachMatcher(parseDetachKeys(keys));
	let passed = "";
	for (const [at, chunk] of chunks.entries()) {
		const { pass, detach } = matcher.take(Buffer.from(chunk, "latin1"));
		passed += pass.toString("latin1");
		if (detach) return { passed, detachedAt: at };
	}
	return { passed, detachedAt: null };
}

describe("detach keys", () => {
	test("one key lets go, and what was typed before it is passed on", () => {
		expect(type("ctrl-]", "ls\r\u001d more")).toEqual({ passed: "ls\r", detachedAt: 0 });
	});

	test("two keys let go only one after the other", () => {
		expect(type("ctrl-p,ctrl-q", "a\u0010", "\u0011")).toEqual({ passed: "a", detachedAt: 1 });
		expect(type("ctrl-p,ctrl-q", "\u0010", "b\u0011")).toEqual({
			passed: "\u0010b\u0011",
			detachedAt: null,
		});
		expect(type("ctrl-\\,ctrl-\\", "\u001c\u001c")).toEqual({ passed: "", detachedAt: 0 });
		expect(type("ctrl-p,ctrl-q", "\u0010\u0010\u0011")).toEqual({
			passed: "\u0010",
			detachedAt: 0,
		});
	});

	test.each(["\u001b[93;5u", "\u001b[93;133u", "\u001b[93:125;5:1u", "\u001b[27;5;93~"])(
		"a terminal may send Ctrl-] as a sequence",
		(sequence) => {
			expect(type("ctrl-]", `x${sequence}`)).toEqual({ passed: "x", detachedAt: 0 });
		},
	);

	test("other keys, and the Escape key alone, are never held back", () => {
		for (const typed of [
			"\u001b",
			"\u001b[A",
			"\u001b[93;6u",
			"\u001b[93;5:3u",
			"\u001b[99;5u",
			"]",
		]) {
			expect(type("ctrl-]", typed)).toEqual({ passed: typed, detachedAt: null });
		}
	});

	test("what does not let go reaches the agent whole", () => {
		const typed = fc.array(fc.string({ unit: fc.constantFrom("a", "\u0010", "\u001b", "[", "é") }));
		fc.assert(
			fc.property(typed, (chunks) => {
				// The last chunk releases held keys.
				const { passed } = type("ctrl-p,ctrl-q", ...chunks, ".");
				expect(passed).toBe(`${chunks.join("")}.`);
			}),
		);
	});

	test("keys have names", () => {
		expect(parseDetachKeys("ctrl-]").name).toBe("Ctrl-]");
		expect(parseDetachKeys("CTRL-p,q").name).toBe("Ctrl-p q");
		for (const bad of ["", "ctrl-", "ctrl-1", "alt-x", "ctrl-p,", "ab", "a,".repeat(9)]) {
			expect(() => parseDetachKeys(bad)).toThrow(`invalid value for --detach-keys: \`${bad}\``);
		}
	});
});
