/** The end of what a process has written to stderr, within bounds (A6). */

import { Buffer } from "node:buffer";

export interface LogTail {
	append(bytes: Buffer): void;
	/** How many bytes there have been, those that are not kept included. */
	readonly position: number;
	/** What is kept of everything since a position, or the end of that. */
	textSince(position: number, bytesMax?: number): string;
}

/** Each costs more than its bytes. */
const CHUNKS_MAX = 256;

export function createLogTail(bytesMax: number): LogTail {
	let chunks: Buffer[] = [];
	let keptBytes = 0;
	let position = 0;

	/** Now and then, not with every chunk: a chatty agent must not cost a copy each time. */
	function shorten(): void {
		const kept = Buffer.concat(chunks, keptBytes).subarray(-bytesMax);
		// A copy: a part of the whole would keep all of it.
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

/** Where the first whole character starts, if the beginning was cut off. */
function characterStart(bytes: Buffer, isCut: boolean): number {
	let start = 0;
	while (isCut && start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
	return start;
}
