/**
 * All processes of a run, and killing them (S11). A process belongs to a run if it carries the run's
 * mark, is in the run's control group, descends from a member, or shares the session or process group
 * of the run's leader while that is known to belong to the run. Never by name (S10).
 */

import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { KillResult, ProcessIdentity, RunProcess, RunProcesses } from "../ports/backend.js";
import { killGroup, readGroupMembers } from "./cgroup-members.js";
import { isAlive, lookUp, type ProcessEntry, readBootId } from "./process-identity.js";
import { nextProcessTable, type ProcessTable } from "./process-table.js";

export interface ProcessTree {
	readonly runId: string;
	/** The run's own process; null if unknown. */
	readonly root: ProcessIdentity | null;
	/**
	 * The process that leads the run's session, if that is a supervising program and not part of the run;
	 * null or omitted if the run's own process leads.
	 */
	readonly keeper?: ProcessIdentity | null;
	/** Its own process exited at most a moment ago, so its session and process group are still its own. */
	readonly rootJustEnded?: boolean;
	/** The run's control groups, if any. */
	readonly groups: readonly string[];
}

/** Remembers, across checks, which processes belong to the run. */
export interface TreeWatch {
	/** The live members in this table. */
	members(table: ProcessTable): ProcessEntry[];
	/** The members that a terminal would signal: the run's process group and the foreground group. */
	workers(table: ProcessTable): ProcessEntry[];
}

const keyOf = ({ pid, startTime }: RunProcess | ProcessEntry) => `${pid} ${startTime}`;

export function watchTree(tree: ProcessTree): TreeWatch {
	const seen = new Set<string>();
	const ofThisBoot = (who: ProcessIdentity | null | undefined) =>
		who?.bootId === readBootId() ? who : null;
	const root = ofThisBoot(tree.root);
	const keeper = ofThisBoot(tree.keeper);
	const leader = keeper ?? root;
	let leads = tree.rootJustEnded ?? false;
	let ownPgid: number | null = null;

	const isAt = (entry: ProcessEntry, who: ProcessIdentity | null) =>
		entry.pid === who?.pid && entry.startTime === who.startTime;

	function isMarked(entry: ProcessEntry, grouped: Set<number>, table: ProcessTable) {
		if (seen.has(keyOf(entry)) || grouped.has(entry.pid)) return true;
		if (leads && (entry.sid === leader?.pid || entry.pgid === leader?.pid)) return true;
		return !isKernelThread(entry) && table.runIdOf(entry.pid) === tree.runId;
	}

	function members(table: ProcessTable): ProcessEntry[] {
		const holder = table.entries.find(({ pid }) => pid === leader?.pid);
		const leaderIsThere = holder !== undefined && isAt(holder, leader);
		// Once another process has the pid, sessions and groups with that number are meaningless.
		leads = leaderIsThere || (leads && holder === undefined);
		const grouped = new Set(tree.groups.flatMap(readGroupMembers));
		const live = table.entries.filter(
			(entry) => !entry.ended && entry.pid !== process.pid && !isAt(entry, keeper),
		);
		const found = new Map(
			live
				.filter((entry) => isAt(entry, root) || isMarked(entry, grouped, table))
				.map((entry) => [entry.pid, entry]),
		);
		addDescendants(found, live);
		for (const entry of found.values()) seen.add(keyOf(entry));
		return [...found.values()];
	}

	return {
		members,
		workers(table) {
			const all = members(table);
			ownPgid = all.find((entry) => isAt(entry, root))?.pgid ?? ownPgid ?? leader?.pid ?? null;
			const shown = all.find(({ pgid, sid }) => pgid === ownPgid || sid === leader?.pid);
			const groups = [ownPgid, shown?.foregroundPgid ?? 0];
			return all.filter(({ pgid }) => pgid > 0 && groups.includes(pgid));
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

/** Sends a signal if the pid still belongs to the same process. */
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

const toRunProcess = ({ pid, startTime, name }: ProcessEntry): RunProcess => ({
	pid,
	startTime,
	name,
});

const listFailure = (error: unknown) => ({
	ok: false as const,
	reason: `cannot list the processes: ${(error as Error).message}`,
});

/** The live processes of a tree. */
export async function listTree(watch: TreeWatch): Promise<RunProcesses> {
	try {
		return { ok: true, processes: watch.members(await nextProcessTable()).map(toRunProcess) };
	} catch (error) {
		return listFailure(error);
	}
}

/** Signals the working processes of the run, wrappers after all others have exited, and returns them. */
export async function signalWorkers(
	watch: TreeWatch,
	root: ProcessIdentity,
	signal: NodeJS.Signals,
): Promise<readonly RunProcess[]> {
	try {
		const workers = watch.workers(await nextProcessTable());
		const wrappers = findWrappers(workers, root, signal);
		const others = workers.filter((each) => !wrappers.includes(each));
		if (wrappers.length > 0) {
			void whenGone(others, () => {
				for (const wrapper of wrappers) signalVerified(wrapper, signal);
			});
		}
		return workers
			.filter((each) => wrappers.includes(each) || signalVerified(each, signal) === "sent")
			.map(toRunProcess);
	} catch {
		// Without a listing, the agent's own process can still be signalled.
		const sent = root.bootId === readBootId() && signalVerified(root, signal) === "sent";
		return sent ? [{ ...root, name: "" }] : [];
	}
}

const LOOKS_WHILE_STOPPING_MAX = 100;

/**
 * Stops every member until a check finds no new one, so that a forking tree cannot outrun it, then
 * kills them all, and checks until two consecutive checks find none.
 */
export async function killTree(
	tree: ProcessTree,
	{ timeoutMs = 10_000, watch = watchTree(tree) } = {},
): Promise<KillResult> {
	const deadlineMs = performance.now() + timeoutMs;
	const killed = new Map<string, RunProcess>();
	let left: ProcessEntry[] = [];
	let emptyChecks = 0;
	let pauseMs = 0;
	const note = (entry: ProcessEntry) => killed.set(keyOf(entry), toRunProcess(entry));
	try {
		// Listed first: members of a group that is killed at once cannot be listed afterwards.
		for (const entry of watch.members(await nextProcessTable())) note(entry);
		do {
			for (const group of tree.groups) killGroup(group);
			left = await stopAll(watch, deadlineMs);
			emptyChecks = left.length === 0 ? emptyChecks + 1 : 0;
			for (const entry of left) {
				note(entry);
				signalVerified(entry, "SIGKILL");
			}
			await sleep(emptyChecks > 0 ? 0 : pauseMs);
			pauseMs = Math.min(pauseMs + 2, 50);
		} while (emptyChecks < 2 && performance.now() < deadlineMs);
	} catch (error) {
		return listFailure(error);
	}
	if (emptyChecks >= 2) return { ok: true, killed: [...killed.values()] };
	const pids = left.slice(0, 20).map(({ pid }) => pid);
	return { ok: false, reason: `still running after ${timeoutMs} ms: pid ${pids.join(", ")}` };
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

/*
 * A shell that leads a terminal's session and does not handle a signal exits when it gets one. The
 * kernel then sends SIGHUP to everything that the shell had started, which kills most programs before
 * they have cleaned up. So such a wrapper is signalled last, when the others have exited.
 */

const CHECK_MS_MIN = 10;
const CHECK_MS_MAX = 100;
/** Longer than any practical drain. Processes that are alive by then are signalled and killed by the drain. */
const WAIT_MS_MAX = 10 * 60 * 1_000;

/**
 * The processes to be signalled last: the leader of the session and the shells below it that the signal would only
 * kill. If such a shell is gone first, the leader goes on, reaches its end, and hangs up on the working programs.
 */
function findWrappers(
	workers: readonly ProcessEntry[],
	root: ProcessIdentity,
	signal: NodeJS.Signals,
): readonly ProcessEntry[] {
	const wrapper = workers.find(
		({ pid, startTime }) => pid === root.pid && startTime === root.startTime,
	);
	// SIGHUP already has the meaning of a hangup.
	if (wrapper === undefined || signal === "SIGHUP" || wrapper.sid !== wrapper.pid) return [];
	const hangsUpOn = workers.filter(
		({ pid, pgid }) => pid !== wrapper.pid && pgid === wrapper.foregroundPgid,
	);
	if (hangsUpOn.length === 0 || !hasDefaultAction(wrapper.pid, signal)) return [];
	const parents = new Set(workers.map(({ ppid }) => ppid));
	const isBetween = ({ pid }: ProcessEntry) => parents.has(pid) && hasDefaultAction(pid, signal);
	return workers.filter((each) => each === wrapper || isBetween(each));
}

/** Calls back when none of these is alive. */
async function whenGone(processes: readonly ProcessEntry[], onGone: () => void): Promise<void> {
	const bootId = readBootId();
	const untilMs = performance.now() + WAIT_MS_MAX;
	for (let pauseMs = CHECK_MS_MIN; performance.now() < untilMs; pauseMs *= 2) {
		await sleep(Math.min(pauseMs, CHECK_MS_MAX), undefined, { ref: false });
		const isOver = processes.every(
			({ pid, startTime }) => isAlive({ bootId, pid, startTime }) === false,
		);
		if (isOver) return onGone();
	}
}

/** Whether the signal kills the process by default. False where the system does not report it. */
function hasDefaultAction(pid: number, signal: NodeJS.Signals): boolean {
	try {
		const status = readFileSync(`/proc/${pid}/status`, "utf8");
		const bit = 1n << BigInt(constants.signals[signal] - 1);
		return ["SigIgn", "SigCgt", "SigBlk"].every((name) => {
			const mask = new RegExp(`^${name}:\\s*([0-9a-f]+)$`, "m").exec(status)?.[1];
			return mask !== undefined && (BigInt(`0x${mask}`) & bit) === 0n;
		});
	} catch {
		return false;
	}
}
