/**
 * Information for `reeve doctor` that needs access to the store, the limits and the processes of this
 * host. A separate program (`daemon/inspection/inspect.js`) collects it without a daemon and prints it as JSON.
 */

import type { DaemonJson } from "../http/contract/daemon.js";

export interface Inspection {
	readonly database: DatabaseFinding;
	/** As seen from the calling shell; the daemon may run in another environment. */
	readonly limits: DaemonJson["limits"];
	/** Processes of agents of this home that no daemon supervises. */
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
		| "left" /** Its run is open in the store, and there is no daemon. */
		| "ended" /** Its run is recorded as ended. */
		| "unknown" /** A holder of this home owns it, and the store does not contain it. */
		| "recorded" /** A file of this home names its run, no holder owns it, and the store does not contain it. */
		| "holder" /** Holds terminals in a removed directory of this home. */;
	readonly pid: number;
	readonly runId: string | null;
	/** The agent, or the directory of a holder. */
	readonly of: string | null;
}
