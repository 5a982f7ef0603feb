/**
 * Ids that sort by creation time (UUID version 7). Rows with such keys are adjacent in the database, so
 * a thousand of them share a few pages, where random ones would touch a page each.
 */

import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";

const TAIL_BYTES = 8;
/** Random bytes are requested in large pieces, because each request is a library call. */
const POOL_BYTES = 512 * TAIL_BYTES;

/** The random part of an id, with its variant bits, as hexadecimal digits. */
function createRandomTail(): () => string {
	let pool = Buffer.alloc(0);
	let used = 0;
	return () => {
		if (used === pool.length) {
			pool = randomBytes(POOL_BYTES);
			used = 0;
		}
		const random = pool.subarray(used, used + TAIL_BYTES);
		used += TAIL_BYTES;
		random[0] = ((random[0] ?? 0) & 0x3f) | 0x80;
		return random.toString("hex");
	};
}

/** Creates ids that never decrease, even if the wall clock does, and within one millisecond. */
export function createIds(now: () => number = Date.now): () => string {
	let lastMs = 0;
	let count = 0;
	const nextRandom = createRandomTail();
	return () => {
		const ms = Math.max(now(), lastMs);
		count = ms === lastMs ? count + 1 : 0;
		// The counter has 12 bits; beyond that it continues in the next millisecond.
		lastMs = count > 0xfff ? ms + 1 : ms;
		if (lastMs !== ms) count = 0;
		const time = lastMs.toString(16).padStart(12, "0");
		const tail = nextRandom();
		const place = count.toString(16).padStart(3, "0");
		return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-${tail.slice(0, 4)}-${tail.slice(4)}`;
	};
}
