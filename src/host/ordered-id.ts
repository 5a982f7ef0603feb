/**
 * Ids that sort by the time they were made (UUID version 7). Rows with such keys lie side by side in the
 * database, so that a thousand of them share a few pages, where random ones would touch a page each.
 */

import { randomBytes } from "node:crypto";

/** Makes ids that never go back, also when the wall clock does and within one millisecond. */
export function createIds(now: () => number = Date.now): () => string {
	let lastMs = 0;
	let count = 0;
	return () => {
		const ms = Math.max(now(), lastMs);
		count = ms === lastMs ? count + 1 : 0;
		// The counter has 12 bits; beyond that the next millisecond is borrowed.
		lastMs = count > 0xfff ? ms + 1 : ms;
		if (lastMs !== ms) count = 0;
		const time = lastMs.toString(16).padStart(12, "0");
		const random = randomBytes(8);
		random[0] = ((random[0] ?? 0) & 0x3f) | 0x80;
		const tail = random.toString("hex");
		const place = count.toString(16).padStart(3, "0");
		return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-${tail.slice(0, 4)}-${tail.slice(4)}`;
	};
}
