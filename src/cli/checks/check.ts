/** What a check of `reeve doctor` finds, and what it may look at. */

import { stat } from "node:fs/promises";
import type { Home } from "../../client/home.js";
import type { Inspection } from "../../client/inspection.js";
import type { ReeveError } from "../../core/errors.js";
import type { DaemonJson } from "../../http/contract/daemon.js";

export interface Check {
	readonly name: string;
	readonly status: "ok" | "warn" | "fail";
	readonly detail: string;
	/** What to do about it, where something is to be done. */
	readonly fix: string | null;
}

export type Finding = Omit<Check, "name">;

export interface CheckContext {
	readonly home: Home;
	readonly env: NodeJS.ProcessEnv;
	/** The fleet file. */
	readonly file: string;
	/** What the daemon says of itself, or why it does not; asked once for all checks. */
	readonly daemon: Promise<DaemonJson | ReeveError>;
	/** What the daemon's own parts see without a daemon; looked at once for all checks. */
	readonly inspection: Promise<Inspection>;
}

export const ok = (detail: string): Finding => ({ status: "ok", detail, fix: null });
export const warn = (detail: string, fix: string | null): Finding => ({
	...{ status: "warn", detail, fix },
});
export const fail = (detail: string, fix: string | null): Finding => ({
	...{ status: "fail", detail, fix },
});

export async function statIfThere(path: string) {
	try {
		return await stat(path);
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
		throw error;
	}
}

/** As a word of a command line that may be copied. */
export function quote(word: string): string {
	return /^[\w./:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
