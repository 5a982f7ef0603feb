/** From rows back to what was stored. */

import type { ReeveEvent } from "../../core/events.js";
import type { Row } from "./driver.js";

/** A row's whole, as it was handed in. */
export function decodeRecord<T>(row: Row): T {
	return JSON.parse(String(row["record"])) as T;
}

/** An event from its row: the number and the time come from columns, the rest is the record. */
export function decodeEvent(row: Row): ReeveEvent {
	const at = new Date(Number(row["at_ms"])).toISOString();
	return { seq: Number(row["seq"]), at, ...decodeRecord<object>(row) } as ReeveEvent;
}

/** A whole number of rows: SQLite takes a negative limit for none at all. */
export function rowLimit(limit: number): number {
	return Math.min(Math.max(0, Math.trunc(limit) || 0), Number.MAX_SAFE_INTEGER);
}
