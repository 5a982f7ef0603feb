import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	agreeOnVersion,
	createFrameDecoder,
	encodeFrame,
	type Frame,
	SHIM_PAYLOAD_MAX,
	STARTER_PAYLOAD_MAX,
} from "./frames.js";
import { PayloadReader, PayloadWriter } from "./payload.js";
import { explainWaitStatus, readStatus } from "./shim-messages.js";
import { encodeSpec } from "./starter-messages.js";

const frames = fc.array(
	fc.record({
		type: fc.integer({ min: 1, max: 255 }),
		payload: fc.uint8Array({ maxLength: 300 }),
	}),
	{ maxLength: 20 },
);

describe("frames", () => {
	test("arrive as they were sent, however the bytes are cut", () => {
		fc.assert(
			fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 })), (sent, cuts) => {
				const all = Buffer.concat(sent.map(({ type, payload }) => encodeFrame(type, payload)));
				const decode = createFrameDecoder(SHIM_PAYLOAD_MAX);
				const got: { type: number; payload: Buffer }[] = [];
				let at = 0;
				for (const cut of cuts) {
					got.push(...decode(all.subarray(at, at + cut)));
					at += cut;
				}
				got.push(...decode(all.subarray(at)));
				expect(got.map(({ type, payload }) => [type, [...payload]])).toEqual(
					sent.map(({ type, payload }) => [type, [...payload]]),
				);
			}),
		);
	});

	test("that are too long are refused before they fill the memory (A6)", () => {
		const head = encodeFrame(46, Buffer.alloc(0));
		head.writeUInt32LE(SHIM_PAYLOAD_MAX + 1, 0);
		expect(() => createFrameDecoder(SHIM_PAYLOAD_MAX)(head)).toThrow(/exceeds the limit/);
		expect(createFrameDecoder(STARTER_PAYLOAD_MAX)(head)).toEqual([]);
	});

	test("with data where none is allowed are invalid", () => {
		const head = encodeFrame(46, Buffer.alloc(0));
		head.writeUInt16LE(7, 6);
		expect(() => createFrameDecoder(SHIM_PAYLOAD_MAX)(head)).toThrow(/not a frame/);
	});

	test("of a megabyte in small pieces do not take long", () => {
		const sent = encodeFrame(16, Buffer.alloc(4_000_000, 1));
		const decode = createFrameDecoder(STARTER_PAYLOAD_MAX);
		const got: Frame[] = [];
		for (let at = 0; at < sent.length; at += 1_000)
			got.push(...decode(sent.subarray(at, at + 1_000)));
		expect(got.map(({ payload }) => payload.length)).toEqual([4_000_000]);
	});

	test("of random bytes throw or wait, and never hang", () => {
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
				const decode = createFrameDecoder(SHIM_PAYLOAD_MAX);
				try {
					decode(Buffer.from(bytes));
				} catch (error) {
					expect(error).toBeInstanceOf(Error);
				}
			}),
		);
	});
});

test("the newest version that both speak is agreed on", () => {
	const one = { oldest: 1, newest: 1 };
	expect(agreeOnVersion(one, one)).toBe(1);
	expect(agreeOnVersion({ oldest: 1, newest: 3 }, one)).toBe(1);
	expect(agreeOnVersion({ oldest: 2, newest: 3 }, one)).toBeNull();
});

describe("payloads", () => {
	test("are read as they were written", () => {
		fc.assert(
			fc.property(
				fc.nat(255),
				fc.nat(65_535),
				fc.nat(4_294_967_295),
				fc.maxSafeNat(),
				fc.string({ maxLength: 100, unit: "grapheme" }),
				fc.uint8Array(),
				(a, b, c, d, text, bytes) => {
					const written = new PayloadWriter().u8(a).u16(b).u32(c).u64(d).text(text).bytes(bytes);
					const reader = new PayloadReader(written.end());
					expect([reader.u8(), reader.u16(), reader.u32(), reader.u64()]).toEqual([a, b, c, d]);
					expect(reader.text()).toBe(Buffer.from(text).toString());
					expect([...reader.rest()]).toEqual([...bytes]);
				},
			),
		);
	});

	test("that are cut off are refused", () => {
		expect(() => new PayloadReader(Buffer.from([5, 0, 65])).text()).toThrow(RangeError);
		expect(() => new PayloadReader(Buffer.from([255, 255, 255, 255])).pids()).toThrow(RangeError);
		expect(() => readStatus(new PayloadReader(Buffer.alloc(3)))).toThrow(RangeError);
	});

	test("describe the start request by tags", () => {
		const spec = encodeSpec({
			...{ runId: "r", runDir: "/d", socket: "/s", logDir: "/l", logBytes: 10, logFiles: 2 },
			...{ cwd: "/", argv: ["a", "b"], env: { A: "1=2" }, groups: ["/g"], terminal: true },
			...{ size: { columns: 200, rows: 50 }, bootId: "boot", enclosure: ["unit", "--"] },
			...{ agentId: "p:a", deadline: { atBootMs: 7, graceMs: 258 } },
		});
		const reader = new PayloadReader(spec);
		const tags: [number, string][] = [];
		for (let left = spec.length; left > 0; ) {
			const [tag, length] = [reader.u16(), reader.u32()];
			const value = Buffer.from(Array.from({ length }, () => reader.u8()));
			tags.push([tag, value.toString("latin1")]);
			left -= 6 + length;
		}
		expect(tags.filter(([tag]) => tag === 8).map(([, value]) => value)).toEqual(["a", "b"]);
		expect(tags).toContainEqual([9, "A=1=2"]);
		expect(tags).toContainEqual([12, "\u00c8\u0000\u0032\u0000"]);
		expect(tags).toContainEqual([11, "\u0001"]);
		expect(tags.slice(-2)).toEqual([
			[16, "\u0007\0\0\0\0\0\0\0"],
			[17, "\u0002\u0001\0\0"],
		]);
		expect(tags.filter(([tag]) => tag === 14).map(([, value]) => value)).toEqual(["unit", "--"]);
	});
});

test("a wait status is a code or a signal", () => {
	expect(explainWaitStatus(3 << 8)).toEqual({ code: 3, signal: null });
	expect(explainWaitStatus(9)).toEqual({ code: null, signal: "SIGKILL" });
	expect(explainWaitStatus(11 | 0x80)).toEqual({ code: null, signal: "SIGSEGV" });
});
