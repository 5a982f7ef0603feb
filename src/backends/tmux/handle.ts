/** What the backend keeps in a run's handle, and the names that follow from a run's id. */

import { createHash } from "node:crypto";
import type { Groups } from "../../host/cgroup.js";
import { readBootId, readIdentity } from "../../host/process-identity.js";
import type { TreeFacts } from "../../host/run-trees.js";
import type { ProcessIdentity, RunHandle, RunReference } from "../../ports/backend.js";

/** tmux gives `.` and `:` in names a meaning, and runs what it finds in others: so names are made up. */
export const sessionOf = (runId: string) =>
	`r-${createHash("sha256").update(runId).digest("hex").slice(0, 16)}`;

/** Exactly this session; without the `=`, tmux takes another whose name begins like it. */
export const targetOf = (runId: string) => `=${sessionOf(runId)}:`;

export interface HandleFacts {
	/** The name of the backend. */
	readonly backend: string;
	readonly runId: string;
	readonly pid: number;
	/** Null when it is not known. */
	readonly launcherPid: number | null;
	/** The tmux server, by its own word; null when it is not known. */
	readonly serverPid: number | null;
	readonly startedAtMs: number;
	readonly terminal: boolean;
	readonly groups: readonly string[];
	readonly missingLimits: readonly string[];
}

/** Reads who the processes are, so it is to be called while their numbers are theirs for sure. */
export function createHandle(facts: HandleFacts): RunHandle {
	const { runId, pid, launcherPid, serverPid, startedAtMs, terminal, groups, missingLimits } =
		facts;
	const launcher = launcherPid === null ? null : readIdentity(launcherPid);
	const server = serverPid === null ? null : readIdentity(serverPid);
	return {
		backend: facts.backend,
		runId,
		process: readIdentity(pid) ?? endedIdentity(pid),
		startedAtMs,
		data: {
			session: sessionOf(runId),
			launcher: "perl",
			terminal: terminal ? 1 : 0,
			...(launcher === null
				? {}
				: { launcherPid: launcher.pid, launcherStartTime: launcher.startTime }),
			...(server === null ? {} : { serverPid: server.pid, serverStartTime: server.startTime }),
			...(groups.length > 0 ? { groups: groups.join(":") } : {}),
			...(missingLimits.length > 0 ? { missingLimits: missingLimits.join("; ") } : {}),
		},
	};
}

/** The process exited before it could be inspected. No process has this start time. */
const endedIdentity = (pid: number): ProcessIdentity => ({
	bootId: readBootId(),
	pid,
	startTime: "ended",
});

export function groupsOf({ data }: RunHandle): readonly string[] {
	const { groups } = data;
	return typeof groups === "string" ? groups.split(":") : [];
}

export const hasTerminal = ({ data }: RunHandle) => data["terminal"] !== 0;

/** The launcher, which exits after it has recorded the agent's exit; null if unknown. */
export const launcherOf = (handle: RunHandle) => identityIn(handle, "launcher");

/** The server that owns the run's terminal; null if unknown. */
export const serverOf = (handle: RunHandle) => identityIn(handle, "server");

function identityIn({ data, process }: RunHandle, who: string): ProcessIdentity | null {
	const { [`${who}Pid`]: pid, [`${who}StartTime`]: startTime } = data;
	if (typeof pid !== "number" || typeof startTime !== "string") return null;
	return { bootId: process.bootId, pid, startTime };
}

/** Where a run's processes are found. In a terminal the launcher leads their session. */
export function treeOf({ runId, handle }: RunReference, groups: Groups): TreeFacts {
	if (handle === null) return { root: null, groups: groups.find(runId) };
	const keeper = launcherOf(handle);
	return { root: handle.process, keeper, groups: groupsOf(handle) };
}
