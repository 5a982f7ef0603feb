import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSanitizer, plainLine, safeJson, screenText } from "./safe-text.js";

const encode = (text: string) => new TextEncoder().encode(text);

function sanitize(...chunks: readonly Uint8Array[]): string {
	const sanitizer = createSanitizer();
	return chunks.map((chunk) => sanitizer.write(chunk)).join("") + sanitizer.end();
}

/** The bytes in pieces, split at these positions. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
	const at = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length];
	at.sort((a, b) => a - b);
	return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

/**
 * Bytes as hostile programs write them: arbitrary, with many that start, continue or end a sequence.
 */
const piece = fc.oneof(
	fc.uint8Array({ maxLength: 8 }),
	fc.string({ unit: "binary", maxLength: 8 }).map(encode),
	fc
		.constantFrom(
			...["\u001b", "\u001b[", "\u001b]", "\u001bP", "\u001b_", "\u001b\\", "\u009b", "\u009d"],
			...["\u009c", "\u0007", "\u0018", "\r", "\n", "\t", ";", "31", "m", "C", "8;;x", "\u202e"],
			...[
				"\u001b[31m",
				"\u001b[5C",
				"\u001b]0;title\u0007",
				"\u001b]8;;http://x\u001b\\",
				"ü",
				"🙂",
			],
		)
		.map(encode),
);
const hostile = fc.array(piece, { maxLength: 30 }).map((parts) => Buffer.concat(parts));

describe("any input", () => {
	test("nothing that acts on a terminal comes out", () => {
		fc.assert(
			fc.property(hostile, (bytes) => {
				for (const letter of sanitize(bytes)) {
					const code = letter.codePointAt(0) ?? 0;
					const controls = code < 0x20 || (code >= 0x7f && code < 0xa0);
					expect(controls && letter !== "\n" && letter !== "\t").toBe(false);
					expect(code >= 0x202a && code <= 0x202e).toBe(false);
				}
			}),
			{ numRuns: 2_000 },
		);
	});

	test("it does not matter where the chunks are cut", () => {
		fc.assert(
			fc.property(hostile, fc.array(fc.nat(), { maxLength: 12 }), (bytes, places) => {
				expect(sanitize(...cut(bytes, places))).toBe(sanitize(bytes));
			}),
			{ numRuns: 2_000 },
		);
	});

	test("sanitising twice changes nothing", () => {
		fc.assert(
			fc.property(hostile, (bytes) => {
				const once = sanitize(bytes);
				expect(sanitize(encode(once))).toBe(once);
			}),
		);
	});

	test("text without controls is not touched", () => {
		// Separators of lines and paragraphs (Zl, Zp) are removed too: some terminals begin a line at them.
		const safe = fc
			.string({ unit: "grapheme", maxLength: 60 })
			.filter((text) => !/[\p{Cc}\p{Cf}\p{Cn}\p{Zl}\p{Zp}]/u.test(text.replace(/[\n\t]/g, "")));
		fc.assert(
			fc.property(safe, (text) => {
				expect(sanitize(encode(text))).toBe(text);
			}),
			{ numRuns: 1_000 },
		);
		expect(sanitize(encode("a\u2028b\u2029c"))).toBe("abc");
	});

	test("a sequence is removed at any position, and nothing else", () => {
		const sequence = fc.constantFrom(
			...[
				"\u001b[0m",
				"\u001b[38;5;12;48:2::1:2:3m",
				"\u001b[?25l",
				"\u001b(0",
				"\u001b=",
				"\u001b7",
			],
			...[
				"\u001b]0;a title\u0007",
				"\u001b]52;c;c2VjcmV0\u001b\\",
				"\u001bPq#0;2;0~-\nmore\u001b\\",
			],
			...["\u001b_Gf=100;AAAA\u001b\\", "\u009b1;1H", "\u001b#8", "\u0007", "\u0008", "\u0000"],
		);
		const word = fc.stringMatching(/^[a-z0-9 .]{0,12}$/);
		fc.assert(
			fc.property(word, sequence, word, (before, middle, after) => {
				expect(sanitize(encode(before + middle + after))).toBe(before + after);
			}),
		);
	});
});

describe("the edges", () => {
	test.each([
		["colours", "\u001b[1;31mred\u001b[0m", "red"],
		["lines of a terminal", "one\r\ntwo\r\r\n", "one\ntwo\n"],
		["a line that is written over", "10%\r20%\r\n", "10%\n20%\n"],
		["skipped columns", "one\u001b[1Ctwo\u001b[3Cthree\u001b[C.", "one two   three ."],
		["a skip that no screen is wide enough for", "a\u001b[999999999Cb", `a${" ".repeat(500)}b`],
		["a newline inside of a sequence", "a\u001b[3\n1mb", "a\nb"],
		["a title that never ends", "\u001b]0;oops\nnext line", "\nnext line"],
		["a sequence ended by an invalid letter", "\u001b[1ü", "ü"],
		["a sequence interrupted by another", "\u001b]0;x\u001b[1mbold", "bold"],
		["a cancelled sequence", "\u001b[31\u0018text", "text"],
		["a backslash that ends nothing", "\\ \u001b\\\\", "\\ \\"],
	])("%s", (_, input, output) => {
		expect(sanitize(encode(input))).toBe(output);
	});

	test("invalid UTF-8 is shown as replacement characters, also bytes that begin sequences in other encodings", () => {
		expect(sanitize(Uint8Array.of(0x61, 0xff, 0x9b, 0x31, 0x6d, 0xc3))).toBe(
			"a\ufffd\ufffd1m\ufffd",
		);
	});

	test("an unterminated string sequence hides a bounded part of the text after it", () => {
		const out = sanitize(encode(`\u001bP${"x".repeat(70_000)}`));
		expect(out.length).toBeGreaterThan(4_000);
		expect(sanitize(encode(`\u001b[${"1".repeat(300)}mtext`))).toContain("text");
	});

	test("a line for a table is one line", () => {
		expect(plainLine("plain")).toBe("plain");
		expect(plainLine("a\r\n\u001b[31mb\u001b[0m\tc ")).toBe("a b c");
	});
});

describe("the text of a program that paints a screen", () => {
	test.each([
		["\u001b[31mred\u001b[0m", "red"],
		["a\u001b[2Cb", "a  b"],
		["a\u001b[5;10Hb\u001b[Kc", "a b c"],
		["\u001b]0;title\u0007text", " text"],
		["\u001b]8;;x\u001b\\link", " link"],
		["\u001bPq#0\u001b\\after", " after"],
		["\u001b7saved", " saved"],
		["\u009b5;10Hb\u202e\u200bc", " bc"],
	])("%j reads as %j", (text, expected) => {
		expect(screenText(text)).toBe(expected);
	});
});

test("JSON for a terminal is the same value with every control character escaped", () => {
	const value = { text: "a\u009b31mb\u001b[2J", plain: "x" };
	for (const control of ["\u009b", "\u001b"]) expect(safeJson(value)).not.toContain(control);
	expect(JSON.parse(safeJson(value, 2))).toEqual(value);
	expect(safeJson({ plain: "x" })).toBe('{"plain":"x"}');
});
