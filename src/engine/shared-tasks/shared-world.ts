/** The needs of shared tasks from the engine and from the host. */

import type { CallSpec } from "../../config/spec.js";
import type { ReeveError } from "../../core/errors.js";
import type { Clock } from "../../ports/clock.js";
import type { Executor } from "../../ports/executor.js";
import type { Store } from "../../ports/store.js";
import type { RunningAttempts } from "../tasks/running-attempts.js";
import type { TaskAgents, TaskLog } from "../tasks/tasks-world.js";

/** A call agent with `placement`. */
export type PlacedCall = CallSpec & { readonly placement: NonNullable<CallSpec["placement"]> };

export interface SharedWorld {
	readonly store: Pick<Store, "commit" | "readCursor">;
	readonly clock: Clock;
	readonly random: () => number;
	readonly newId: () => string;
	readonly agents: TaskAgents;
	/** The call agents of this host that share their tasks. */
	readonly placed: () => readonly PlacedCall[];
	readonly executor: Pick<Executor, "endLeft">;
	/** Together with those of the tasks of this host alone. */
	readonly running: RunningAttempts;
	/** How many attempts of call agents may run at once on this host. */
	readonly concurrency: number;
	/** A slot became free. */
	readonly freed: () => void;
	readonly log: TaskLog;
	/** Why requests fail now. */
	readonly unavailable: () => ReeveError;
}

/** This host, as the cluster knows it. */
export interface ServingHost {
	readonly labels: Readonly<Record<string, string>>;
	readonly adapters: readonly string[];
	readonly draining: boolean;
}
