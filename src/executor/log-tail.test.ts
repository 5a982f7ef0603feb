import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLogTail } from "./log-tail.js";

test("the tail is the end of everything, however it came", () => {
	fc.assert(
		fc.property(fc.array(fc.string({ maxLength: 40 })), fc.nat(200), (chunks, from) => {
			const tail = createLogTail(32);
			for (const chunk of chunks) tail.append(Buffer.from(chunk, "latin1"));
			const all = Buffer.from(chunks.join(""), "latin1");
			expect(tail.position).toBe(all.length);
			const wanted = Math.max(0, Math.min(32, all.length - from));
			const isAscii = all.every((byte) => byte < 128);
			if (isAscii) expect(tail.textSince(from)).toBe(all.subarray(all.length - wanted).toString());
		}),
	);
});

test("thousands of small chunks are kept as few", () => {
	const tail = createLogTail(64);
	for (let n = 0; n < 10_000; n++) tail.append(Buffer.from(String(n % 10)));
	expect(tail.textSince(0)).toBe("0123456789".repeat(7).slice(-64));
	expect(tail.textSince(9_998)).toBe("89");
	expect(tail.textSince(10_000)).toBe("");
});

test("a character whose beginning was cut off is left out", () => {
	const tail = createLogTail(5);
	tail.append(Buffer.from("x€€"));
	expect(tail.textSince(0)).toBe("€");
	expect(tail.textSince(0, 3)).toBe("€");
	expect(tail.textSince(0, 2)).toBe("");
});
