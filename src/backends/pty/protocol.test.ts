import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	agreeOnVersion,
	createFrameDecoder,
	encodeFrame,
	FRAME_BYTES_MAX,
	type FromClient,
} from "./protocol.js";

describe("frames", () => {
	test("arrive as they were sent, in whatever pieces", () => {
		const frames = fc.array(fc.tuple(fc.string(), fc.uint8Array({ maxLength: 300 })), {
			maxLength: 8,
		});
		fc.assert(
			fc.property(frames, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (sent, sizes) => {
				const stream = Buffer.concat(
					sent.map(([runId, bytes]) => encodeFrame({ type: "input", id: 1, runId }, bytes)),
				);
				const decode = createFrameDecoder<FromClient & { runId: string }>();
				const got: [string, Uint8Array][] = [];
				for (let at = 0; at < stream.length; ) {
					const size = sizes.next().value as number;
					for (const { header, bytes } of decode(stream.subarray(at, at + size))) {
						got.push([header.runId, new Uint8Array(bytes)]);
					}
					at += size;
				}
				expect(got).toEqual(sent.map(([runId, bytes]) => [runId, new Uint8Array(bytes)]));
			}),
		);
	});

	test("that cannot be one end the connection before they fill the memory (A6)", () => {
		const start = (length: number, header: number) => {
			const bytes = Buffer.alloc(8);
			bytes.writeUInt32BE(length, 0);
			bytes.writeUInt32BE(header, 4);
			return bytes;
		};
		expect(() => createFrameDecoder()(start(FRAME_BYTES_MAX + 1, 2))).toThrow(/not a frame/);
		expect(() => createFrameDecoder()(start(10, 7))).toThrow(/not a frame/);
	});
});

describe("versions", () => {
	test("the newest that both speak is agreed on, also between old and new", () => {
		const one = { newest: 1, oldest: 1 };
		expect(agreeOnVersion(one, one)).toEqual({ version: 1 });
		expect(agreeOnVersion({ newest: 3, oldest: 1 }, one)).toEqual({ version: 1 });
		expect(agreeOnVersion({ newest: 3, oldest: 2 }, { newest: 5, oldest: 1 })).toEqual({
			version: 3,
		});
	});

	test("none in common is refused, and both ranges are named", () => {
		expect(agreeOnVersion({ newest: 3, oldest: 2 }, { newest: 1, oldest: 1 })).toEqual({
			refused: "no common protocol: this side speaks versions 2 to 3, the other version 1",
		});
	});
});
