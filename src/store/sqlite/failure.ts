/** The meaning of an SQLite error: the database cannot be used now, which may pass, or one change was wrong. */

import { messageOf } from "../../core/message-of.js";

/** Primary result codes that concern the file, the disk or the host. */
const OBSTACLES: Readonly<Record<number, string>> = {
	5: "the database is locked by another program",
	6: "the database is locked by another program",
	7: "out of memory",
	8: "the database is read-only",
	9: "the operation was interrupted",
	10: "the disk reported an error",
	11: "the database is damaged",
	13: "the disk is full",
	14: "cannot open a file of the database",
	15: "the database is locked by another program",
	26: "the file is not a database",
};

const DAMAGE: ReadonlySet<number> = new Set([11, 26]);

/** SQLite's primary result code, or null for any other error. */
function codeOf(error: unknown): number | null {
	const code: unknown = error instanceof Error && "errcode" in error ? error.errcode : null;
	// The low byte of the extended code is the primary one.
	return typeof code === "number" ? code & 0xff : null;
}

/** Why the database cannot be used now, as text; null if the error has another cause. */
export function obstacleOf(error: unknown): string | null {
	const words = OBSTACLES[codeOf(error) ?? -1];
	return words === undefined ? null : `${words} (${messageOf(error)})`;
}

/** Whether the error means that the file is not, or no longer, a valid database. */
export function isDamage(error: unknown): boolean {
	return DAMAGE.has(codeOf(error) ?? -1);
}
