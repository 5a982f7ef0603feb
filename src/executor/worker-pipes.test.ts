import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineReader } from "./worker-pipes.js";

test("lines are whole, however they are cut into chunks", () => {
	const text = fc.array(fc.string({ unit: "grapheme" }).map((line) => line.replaceAll("\n", "")));
	fc.assert(
		fc.property(text, fc.integer({ min: 1, max: 7 }), (lines, size) => {
			const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
			const read: string[] = [];
			const reader = createLineReader(1_000, (line) => read.push(line.toString("utf8")));
			for (let at = 0; at < bytes.length; at += size) {
				expect(reader.take(bytes.subarray(at, at + size))).toBe(true);
			}
			expect(read).toEqual(lines);
			expect(reader.rest().length).toBe(0);
		}),
	);
});

test("a line that is longer than allowed is refused, ended or not", () => {
	const reader = () => createLineReader(4, () => {});
	expect(reader().take(Buffer.from("1234\n1234\n"))).toBe(true);
	expect(reader().take(Buffer.from("12345"))).toBe(false);
	expect(reader().take(Buffer.from("12345\n"))).toBe(false);
	const inParts = reader();
	expect(inParts.take(Buffer.from("123"))).toBe(true);
	expect(inParts.take(Buffer.from("45\n"))).toBe(false);
});

test("text after the last newline is kept", () => {
	const reader = createLineReader(10, () => {});
	reader.take(Buffer.from("a\nb"));
	expect(reader.rest().toString()).toBe("b");
});
