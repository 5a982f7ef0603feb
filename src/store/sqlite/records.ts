/** Decodes rows. */

import type { ReeveEvent } from "../../core/events.js";
import type { Row } from "./driver.js";

/** The object of a row, as it was stored. */
export function decodeRecord<T>(row: Row): T {
	return JSON.parse(String(row["record"])) as T;
}

/** An event from its row: number and time come from columns, the rest from the record. */
export function decodeEvent(row: Row): ReeveEvent {
	const at = new Date(Number(row["at_ms"])).toISOString();
	return { seq: Number(row["seq"]), at, ...decodeRecord<object>(row) } as ReeveEvent;
}

/** A non-negative row limit: SQLite treats a negative limit as none. */
export function rowLimit(limit: number): number {
	return Math.min(Math.max(0, Math.trunc(limit) || 0), Number.MAX_SAFE_INTEGER);
}
