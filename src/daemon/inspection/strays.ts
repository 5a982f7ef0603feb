/**
 * Processes of this home that no daemon supervises, from the process table, the owners of terminals and the runs in the
 * store. Only processes that are proven to belong to this home count: those of another home belong to its own daemon.
 */

import type { Stray } from "../../client/inspection.js";
import type { KnownRun } from "../../store/sqlite/inspect-database.js";

export interface SeenProcess {
	readonly pid: number;
	readonly ppid: number;
	/** The run whose mark it carries. */
	readonly runId: string | null;
}

/** A tmux server or a starter of the pty backend of this home; or a holder of an earlier version. */
export interface Holder {
	readonly pid: number;
	readonly folder: string;
	/** False if the directory was removed, so that no daemon can reach the holder. */
	readonly folderIsThere: boolean;
}

export interface StrayFacts {
	readonly processes: readonly SeenProcess[];
	readonly holders: readonly Holder[];
	/** Pids of shims of other homes. After a home was copied, both know the same runs. */
	readonly otherShims: ReadonlySet<number>;
	/** Runs that are running according to the backends' own files in this home. */
	readonly recordedRuns: ReadonlySet<string>;
	readonly runs: readonly KnownRun[];
	readonly hasDaemon: boolean;
}

export function findStrays(facts: StrayFacts): Stray[] {
	const { processes, holders, otherShims, recordedRuns, runs, hasDaemon } = facts;
	const known = new Map(runs.map((run) => [run.runId, run]));
	const parents = new Map(processes.map(({ pid, ppid }) => [pid, ppid]));
	const own = new Set(holders.map(({ pid }) => pid));

	function isHeldBy(holding: ReadonlySet<number>, pid: number): boolean {
		const passed = new Set<number>();
		for (let at = pid; at > 1 && !passed.has(at); at = parents.get(at) ?? 0) {
			if (holding.has(at)) return true;
			passed.add(at);
		}
		return false;
	}

	function straysFrom({ pid, ppid, runId }: SeenProcess): Stray[] {
		// The oldest process of a run represents it.
		if (runId === null || processes.some((each) => each.pid === ppid && each.runId === runId)) {
			return [];
		}
		const run = known.get(runId);
		if (run === undefined) {
			if (isHeldBy(own, pid)) return [{ what: "unknown", pid, runId, of: null }];
			return recordedRuns.has(runId) ? [{ what: "recorded", pid, runId, of: null }] : [];
		}
		if (isHeldBy(otherShims, pid)) return [];
		if (run.hasEnded) return [{ what: "ended", pid, runId, of: run.agentId }];
		return hasDaemon ? [] : [{ what: "left", pid, runId, of: run.agentId }];
	}

	return [
		...holders
			.filter(({ folderIsThere }) => !folderIsThere)
			.map(({ pid, folder }) => ({ what: "holder" as const, pid, runId: null, of: folder })),
		...processes.flatMap(straysFrom),
	];
}

const SHIM_PROGRAM = /(^|\/)reeve-shim[^/]*$/;
/** Of versions before the shim. */
const HOLDER_PROGRAM = /\/backends\/pty\/holder\/holder-main\.js$/;

/** Whether a command line is that of a shim, which holds one run. */
export const isShimOfRun = ([program = "", mode]: readonly string[]): boolean =>
	SHIM_PROGRAM.test(program) && mode === "run";

/** The directory of a holder, from its command line; null for other processes. */
export function holderFolder(argv: readonly string[]): string | null {
	const [program = "", ...args] = argv;
	if (/(^|\/)tmux$/.test(program)) {
		// Not by its socket, which is elsewhere if the path is long.
		const config = args[args.indexOf("-f") + 1] ?? "";
		return /^(\/.*)\/tmux-[0-9a-f]{8}\.conf$/.exec(config)?.[1] ?? null;
	}
	if (SHIM_PROGRAM.test(program)) return args[0] === "starter" ? (args[1] ?? null) : null;
	const at = args.findIndex((word) => HOLDER_PROGRAM.test(word));
	return at < 0 ? null : (args[at + 1] ?? null);
}
