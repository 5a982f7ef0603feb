/**
 * Agents that run on although the database that knows them is not there. Over a new one nobody would
 * know of them, and each would be started a second time (S1).
 */

import { statSync } from "node:fs";
import type { Home } from "../client/home.js";
import { seeProcesses } from "./holders.js";
import { findStrays } from "./strays.js";

const TOLD_MAX = 10;

/** Why there must be no new database, with what to do; null where nothing speaks against it. */
export function explainForgottenRuns(home: Home): string | null {
	if (hasDatabase(home.database)) return null;
	const strays = findStrays({ ...seeProcesses(home), runs: [], hasDaemon: false });
	const pids = strays.filter(({ what }) => what === "unknown").map(({ pid }) => pid);
	if (pids.length === 0) return null;
	const some = pids.slice(0, TOLD_MAX).join(" ");
	const rest = pids.length > TOLD_MAX ? ` and ${pids.length - TOLD_MAX} more` : "";
	return `${home.database} is not there, but agents that it knew still run (pid ${some}${rest}): a new database would start them twice. Put it back, or end them first (kill ${some}).`;
}

/** An empty file is what SQLite makes before it writes anything. */
function hasDatabase(path: string): boolean {
	return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
