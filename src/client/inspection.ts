/**
 * What `reeve doctor` cannot see from outside: the store, the limits and the processes of this host, looked at
 * by a program of the daemon's (`daemon/inspection/inspect.js`) that needs no daemon. It prints this as JSON.
 */

import type { DaemonJson } from "../http/contract/daemon.js";

export interface Inspection {
	readonly database: DatabaseFinding;
	/** As far as they can be seen from the shell that asks; the daemon may be elsewhere. */
	readonly limits: DaemonJson["limits"];
	/** Processes that were started for agents of this home, and that no daemon keeps. */
	readonly strays: readonly Stray[];
}

export type DatabaseFinding =
	| { readonly state: "absent" }
	| { readonly state: "sound"; readonly bytes: number }
	/** Too large for a full check while the user waits. */
	| { readonly state: "unread"; readonly bytes: number }
	| { readonly state: "unusable"; readonly reason: string; readonly hint: string };

export interface Stray {
	readonly what:
		| "left" /** Its run has not ended as far as the store goes, and there is no daemon. */
		| "ended" /** Its run is recorded as ended. */
		| "unknown" /** A holder of this home has it, and the store knows nothing of it. */
		| "recorded" /** A file of this home names its run, nothing holds it, and the store does not know it. */
		| "holder" /** Holds terminals in a folder of this home that was removed. */;
	readonly pid: number;
	readonly runId: string | null;
	/** The agent, or the folder of a holder. */
	readonly of: string | null;
}
