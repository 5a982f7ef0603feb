/**
 * Splits chunks into lines, as bytes, so that a character split between two chunks stays whole. Bounded
 * (A6).
 */

import { Buffer } from "node:buffer";

const NEWLINE = 0x0a;

export interface LineReader {
	/** False if a line is too long; the reader must not be used after that. */
	take(chunk: Buffer): boolean;
	/** The bytes after the last newline. */
	rest(): Buffer;
}

export function createLineReader(bytesMax: number, onLine: (line: Buffer) => void): LineReader {
	let parts: Buffer[] = [];
	let partBytes = 0;

	function takeParts(last: Buffer): Buffer {
		const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
		parts = [];
		partBytes = 0;
		return line;
	}

	return {
		take(chunk) {
			let from = 0;
			for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
				if (partBytes + end - from > bytesMax) return false;
				onLine(takeParts(chunk.subarray(from, end)));
				from = end + 1;
			}
			if (from < chunk.length) {
				parts.push(chunk.subarray(from));
				partBytes += chunk.length - from;
			}
			return partBytes <= bytesMax;
		},
		rest: () => takeParts(Buffer.alloc(0)),
	};
}
