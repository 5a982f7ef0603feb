/** The end of a process's stderr output, within bounds (A6). */

import { Buffer } from "node:buffer";

export interface LogTail {
	append(bytes: Buffer): void;
	/** The total number of bytes, including those no longer kept. */
	readonly position: number;
	/** The kept output since a position, or the end of it. */
	textSince(position: number, bytesMax?: number): string;
}

/** Each chunk has an overhead beyond its bytes. */
const CHUNKS_MAX = 256;

export function createLogTail(bytesMax: number): LogTail {
	let chunks: Buffer[] = [];
	let keptBytes = 0;
	let position = 0;

	/** Not for every chunk: a verbose agent must not cause a copy each time. */
	function shorten(): void {
		const kept = Buffer.concat(chunks, keptBytes).subarray(-bytesMax);
		// A copy: a slice would retain the whole buffer.
		chunks = [Buffer.from(kept)];
		keptBytes = kept.length;
	}

	return {
		append(bytes) {
			position += bytes.length;
			chunks.push(bytes);
			keptBytes += bytes.length;
			if (keptBytes > 2 * bytesMax || chunks.length > CHUNKS_MAX) shorten();
		},
		get position() {
			return position;
		},
		textSince(from, textBytesMax = bytesMax) {
			const wantedBytes = Math.min(position - from, keptBytes, textBytesMax);
			if (wantedBytes <= 0) return "";
			const tail = lastBytes(chunks, wantedBytes);
			return tail.subarray(characterStart(tail, from + wantedBytes < position)).toString("utf8");
		},
	};
}

function lastBytes(chunks: readonly Buffer[], bytes: number): Buffer {
	let first = chunks.length;
	for (let missing = bytes; missing > 0 && first > 0; first--) {
		missing -= chunks[first - 1]?.length ?? 0;
	}
	return Buffer.concat(chunks.slice(first)).subarray(-bytes);
}

/** The start of the first complete character, if the beginning was cut off. */
function characterStart(bytes: Buffer, isCut: boolean): number {
	let start = 0;
	while (isCut && start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
	return start;
}
