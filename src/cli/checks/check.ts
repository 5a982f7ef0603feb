/** The findings and the input of the checks of `reeve doctor`. */

import { stat } from "node:fs/promises";
import type { Inspection } from "../../client/inspection.js";
import type { ReeveError } from "../../core/errors.js";
import type { Home } from "../../home/paths.js";
import type { DaemonJson } from "../../http/contract/daemon.js";

export interface Check {
	readonly name: string;
	readonly status: "ok" | "warn" | "fail";
	readonly detail: string;
	/** How to fix it, if there is something to fix. */
	readonly fix: string | null;
}

export type Finding = Omit<Check, "name">;

export interface CheckContext {
	readonly home: Home;
	readonly env: NodeJS.ProcessEnv;
	/** The fleet file. */
	readonly file: string;
	/** The daemon's status, or the error of the request; requested once for all checks. */
	readonly daemon: Promise<DaemonJson | ReeveError>;
	/** The inspection by the daemon's own modules without a daemon; done once for all checks. */
	readonly inspection: Promise<Inspection>;
}

export const ok = (detail: string): Finding => ({ status: "ok", detail, fix: null });
export const warn = (detail: string, fix: string | null): Finding => ({
	status: "warn",
	detail,
	fix,
});
export const fail = (detail: string, fix: string | null): Finding => ({
	status: "fail",
	detail,
	fix,
});

export async function statIfExists(path: string) {
	try {
		return await stat(path);
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
		throw error;
	}
}

/** Quotes a word for a command line that can be copied. */
export function quote(word: string): string {
	return /^[\w./:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
