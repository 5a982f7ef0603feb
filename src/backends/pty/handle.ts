/** The backend's data in a run's handle: the agent's directory, its control groups, and missing limits. */

import type { ProcessIdentity, RunHandle } from "../../ports/backend.js";

export interface HandleFacts {
	readonly backend: string;
	readonly runId: string;
	readonly process: ProcessIdentity;
	readonly startedAtMs: number;
	readonly outputFrom: number;
	/** The name of the agent's directory. */
	readonly agent: string;
	readonly groups: readonly string[];
	readonly missingLimits: readonly string[];
	readonly hasDeadline: boolean;
}

export function createHandle(facts: HandleFacts): RunHandle {
	const { backend, runId, process, startedAtMs, outputFrom } = facts;
	const { agent, groups, missingLimits, hasDeadline } = facts;
	return {
		...{ backend, runId, process, startedAtMs, outputFrom },
		data: {
			agent,
			...(groups.length > 0 ? { groups: groups.join(":") } : {}),
			...(missingLimits.length > 0 ? { missingLimits: missingLimits.join("; ") } : {}),
			...(hasDeadline ? { deadline: 1 } : {}),
		},
	};
}

export function groupsOf({ data }: RunHandle): readonly string[] {
	const { groups } = data;
	return typeof groups === "string" ? groups.split(":") : [];
}

/** Whether its shim may have ended it at a deadline. */
export function hadDeadline({ data }: RunHandle): boolean {
	return data["deadline"] === 1;
}

/** Null in a handle of a version before the shim. */
export function agentFolderOf({ data }: RunHandle): string | null {
	const { agent } = data;
	return typeof agent === "string" ? agent : null;
}
