/** Read-only inspection of the database, for `reeve doctor`. */

import { statSync } from "node:fs";
import { loadDriver } from "./driver.js";
import { inspectFile } from "./open-database.js";

export type DatabaseInspection =
	| { readonly state: "absent" }
	| {
			readonly state: "sound" | "unread";
			readonly bytes: number;
			/** The requested runs, as far as they are known. */
			readonly runs: readonly KnownRun[];
	  }
	| { readonly state: "unusable"; readonly reason: string; readonly hint: string };

export interface KnownRun {
	readonly runId: string;
	readonly agentId: string;
	readonly hasEnded: boolean;
}

/** A full check of a larger file would take too long. */
const CHECKED_BYTES_MAX = 200 * 2 ** 20;

export async function inspectDatabase(
	path: string,
	runIds: readonly string[],
	checkedBytesMax = CHECKED_BYTES_MAX,
): Promise<DatabaseInspection> {
	const bytes = statSync(path, { throwIfNoEntry: false })?.size;
	if (bytes === undefined) return { state: "absent" };
	const driver = await loadDriver();
	const isLarge = bytes > checkedBytesMax;
	const refused = inspectFile(path, driver, { readsThrough: !isLarge });
	if (refused !== null) return { state: "unusable", reason: refused.reason, hint: refused.hint };
	const database = driver.open(path, { readOnly: true });
	try {
		// The daemon initializes an empty file when it first opens it.
		const isNew =
			database.readValue("SELECT count(*) FROM sqlite_schema WHERE name = 'runs'") === 0;
		const find = isNew
			? null
			: database.prepare("SELECT agent_id, state FROM runs WHERE run_id = ?");
		const runs = runIds.flatMap((runId) => {
			const row = find?.get(runId);
			if (row === undefined) return [];
			return [{ runId, agentId: String(row["agent_id"]), hasEnded: row["state"] === "ended" }];
		});
		return { state: isLarge ? "unread" : "sound", bytes, runs };
	} finally {
		database.close();
	}
}
