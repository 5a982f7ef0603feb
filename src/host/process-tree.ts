/**
 * Everything that a run has started, and its end (S11). A process belongs to a run when it carries the
 * run's mark, is in the run's control group, descends from one that belongs, or shares the session or
 * process group of the run's own process while that is known to be alive. Never by name (S10).
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { KillResult, ProcessIdentity } from "../ports/backend.js";
import { killGroup, readGroupMembers } from "./cgroup-members.js";
import { lookUp, type ProcessEntry, readBootId } from "./process-identity.js";
import { nextProcessTable, type ProcessTable } from "./process-table.js";

export interface ProcessTree {
	readonly runId: string;
	/** The run's own process; null when it is not known. */
	readonly root: ProcessIdentity | null;
	/** Its own process ended a moment ago at most, so its session and process group are still its own. */
	readonly rootJustEnded?: boolean;
	/** The run's control groups, where it has some. */
	readonly groups: readonly string[];
}

/** Keeps, across looks, who has been seen to belong. */
export interface TreeWatch {
	/** The live members in this table. */
	members(table: ProcessTable): ProcessEntry[];
}

const keyOf = ({ pid, startTime }: ProcessEntry) => `${pid} ${startTime}`;

export function watchTree(tree: ProcessTree): TreeWatch {
	const seen = new Set<string>();
	const root = tree.root?.bootId === readBootId() ? tree.root : null;
	let rootSeenAlive = tree.rootJustEnded ?? false;

	function belongsByItself(entry: ProcessEntry, grouped: Set<number>, table: ProcessTable) {
		if (seen.has(keyOf(entry)) || grouped.has(entry.pid)) return true;
		if (rootSeenAlive && (entry.sid === root?.pid || entry.pgid === root?.pid)) return true;
		return !isKernelThread(entry) && table.runIdOf(entry.pid) === tree.runId;
	}

	return {
		members(table) {
			const holder = table.entries.find(({ pid }) => pid === root?.pid);
			const rootIsThere = holder !== undefined && holder.startTime === root?.startTime;
			// Once another process has the number, sessions and groups of that number mean nothing.
			rootSeenAlive = rootIsThere || (rootSeenAlive && holder === undefined);
			const grouped = new Set(tree.groups.flatMap(readGroupMembers));
			const live = table.entries.filter(({ ended, pid }) => !ended && pid !== process.pid);
			const found = new Map(
				live
					.filter((entry) => entry === holder && rootIsThere)
					.concat(live.filter((entry) => belongsByItself(entry, grouped, table)))
					.map((entry) => [entry.pid, entry]),
			);
			addDescendants(found, live);
			for (const entry of found.values()) seen.add(keyOf(entry));
			return [...found.values()];
		},
	};
}

const isKernelThread = ({ pid, ppid }: ProcessEntry) => pid === 2 || ppid === 2;

function addDescendants(found: Map<number, ProcessEntry>, live: readonly ProcessEntry[]): void {
	const children = groupByParent(live);
	const open = [...found.keys()];
	for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
		for (const child of children.get(pid) ?? []) {
			if (found.has(child.pid)) continue;
			found.set(child.pid, child);
			open.push(child.pid);
		}
	}
}

function groupByParent(live: readonly ProcessEntry[]): Map<number, ProcessEntry[]> {
	const children = new Map<number, ProcessEntry[]>();
	for (const entry of live) {
		const siblings = children.get(entry.ppid);
		if (siblings === undefined) children.set(entry.ppid, [entry]);
		else siblings.push(entry);
	}
	return children;
}

/** Sends a signal if the pid still stands for the same process. */
export function signalVerified(
	{ pid, startTime }: { readonly pid: number; readonly startTime: string },
	signal: NodeJS.Signals,
): "sent" | "gone" | "refused" {
	const now = lookUp(pid);
	if (now === "unknown") return "refused";
	if (now === "none" || now.ended || now.startTime !== startTime) return "gone";
	try {
		process.kill(pid, signal);
		return "sent";
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "ESRCH" ? "gone" : "refused";
	}
}

const LOOKS_WHILE_STOPPING_MAX = 100;

/**
 * Stops every member until a look finds no new one, so that a tree that forks cannot outrun this, then
 * kills them all, and looks until two looks in a row find nobody.
 */
export async function killTree(tree: ProcessTree, timeoutMs = 10_000): Promise<KillResult> {
	const deadlineMs = performance.now() + timeoutMs;
	const watch = watchTree(tree);
	let left: ProcessEntry[] = [];
	let emptyLooks = 0;
	let pauseMs = 0;
	try {
		do {
			for (const group of tree.groups) killGroup(group);
			left = await stopAll(watch, deadlineMs);
			emptyLooks = left.length === 0 ? emptyLooks + 1 : 0;
			for (const entry of left) signalVerified(entry, "SIGKILL");
			await sleep(emptyLooks > 0 ? 0 : pauseMs);
			pauseMs = Math.min(pauseMs + 2, 50);
		} while (emptyLooks < 2 && performance.now() < deadlineMs);
	} catch (error) {
		return { ok: false, reason: `the processes cannot be listed: ${(error as Error).message}` };
	}
	if (emptyLooks >= 2) return { ok: true };
	const pids = left.slice(0, 20).map(({ pid }) => pid);
	return { ok: false, reason: `still there after ${timeoutMs} ms: pid ${pids.join(", ")}` };
}

async function stopAll(watch: TreeWatch, deadlineMs: number): Promise<ProcessEntry[]> {
	const stopped = new Set<string>();
	for (let look = 0; look < LOOKS_WHILE_STOPPING_MAX; look++) {
		const members = watch.members(await nextProcessTable());
		const fresh = members.filter((entry) => !stopped.has(keyOf(entry)));
		if (fresh.length === 0 || performance.now() > deadlineMs) return members;
		for (const entry of fresh) {
			stopped.add(keyOf(entry));
			signalVerified(entry, "SIGSTOP");
		}
	}
	return watch.members(await nextProcessTable());
}
