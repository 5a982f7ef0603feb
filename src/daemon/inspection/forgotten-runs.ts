/**
 * Running agents whose runs are not in the database: it is missing, lost its newest part, is an older
 * copy or belongs to another home. A daemon would start each of them a second time (S1).
 */

import { statSync } from "node:fs";
import type { Stray } from "../../client/inspection.js";
import type { Home } from "../../home/paths.js";
import { inspectDatabase } from "../../store/sqlite/inspect-database.js";
import { listProcesses } from "./holders.js";
import { findStrays } from "./strays.js";

const SHOWN_MAX = 10;

/** Why no daemon may start with this database, with a hint; null if it may. Does not change the database. */
export async function explainForgottenRuns(home: Home): Promise<string | null> {
	const { database } = home;
	const seen = listProcesses(home);
	const isMissing = !hasDatabase(database);
	const suspects = findStrays({ ...seen, runs: [], hasDaemon: false }).filter(isUnknown);
	if (suspects.length === 0) return null;
	const runIds = suspects.flatMap(({ runId }) => runId ?? []);
	// The file is validated when it is opened.
	const look = isMissing ? null : await inspectDatabase(database, runIds, 0);
	if (look?.state === "unusable") return `${look.reason} ${look.hint}`;
	const runs = look !== null && "runs" in look ? look.runs : [];
	const unknown = findStrays({ ...seen, runs, hasDaemon: false }).filter(isUnknown);
	if (unknown.length === 0) return null;
	const problem = isMissing
		? `${database} is missing, but agents that it recorded are still running`
		: `${database} does not contain agents that are still running: it lost its newest changes, is an old copy, or belongs to another home`;
	const fix = `Restore the correct database (${database} with its -wal file), or stop these agents first`;
	return `${problem} (pid ${pidsOf(unknown)}). A daemon would start them a second time. ${fix}${renderStop(unknown)}.`;
}

const isUnknown = ({ what }: Stray) => what === "unknown" || what === "recorded";

/** Only for processes that are proven to belong to Reeve. */
function renderStop(unknown: readonly Stray[]): string {
	const isProven = unknown.every(({ what }) => what === "unknown");
	return isProven ? ` (kill ${pidsOf(unknown)})` : "";
}

function pidsOf(strays: readonly Stray[]): string {
	const shown = strays.slice(0, SHOWN_MAX).map(({ pid }) => pid);
	const more = strays.length > SHOWN_MAX ? ` and ${strays.length - SHOWN_MAX} more` : "";
	return `${shown.join(" ")}${more}`;
}

/** SQLite creates an empty file before it writes anything. */
function hasDatabase(path: string): boolean {
	return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
