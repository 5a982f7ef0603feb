/**
 * A running program: in its own session and process group, marked with the id of its run, and in a control group if it
 * has limits. No process of it is left when `endProgram` or `endLeftovers` has resolved (S11, T6).
 */

import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Groups, RunGroups } from "../host/cgroup.js";
import { readGroupMembers } from "../host/cgroup-members.js";
import { createOrphanFinder } from "../host/orphans.js";
import { lookUp, readBootId } from "../host/process-identity.js";
import { killTree } from "../host/process-tree.js";
import { checkLaunch, explainSpawnError } from "../host/spawn-errors.js";
import type {
	KillResult,
	ProcessIdentity,
	ResourceLimits,
	StartFailure,
} from "../ports/backend.js";
import { isInTime } from "./deadline.js";

export interface ProgramLaunch {
	readonly runId: string;
	readonly agentId: string;
	readonly argv: readonly [string, ...string[]];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	readonly limits: ResourceLimits;
}

export interface ProgramEnd {
	readonly code: number | null;
	readonly signal: string | null;
	/** Wall time. */
	readonly atMs: number;
	readonly outOfMemory: boolean;
}

export interface RunningProgram {
	readonly runId: string;
	readonly pid: number;
	readonly stdin: Writable;
	readonly stdout: Readable;
	readonly stderr: Readable;
	/** Its own process has exited and is reaped. */
	readonly exited: Promise<ProgramEnd>;
	/** Null while it runs. */
	readonly end: ProgramEnd | null;
	/** It has exited, and no process holds its output open. */
	readonly closed: Promise<void>;
	readonly groups: readonly string[];
	/** Limits that could not be set, as text. */
	readonly missingLimits: readonly string[];
}

export type ProgramStart =
	| { readonly ok: true; readonly program: RunningProgram }
	| { readonly ok: false; readonly failure: StartFailure };

const hasLimits = ({ memoryBytes, cpuPercent, pids }: ResourceLimits) =>
	memoryBytes !== null || cpuPercent !== null || pids !== null;

/** `groups` is used only for a program with limits: a group costs more than a small program. */
export async function startProgram(
	launch: ProgramLaunch,
	groups: () => Groups,
): Promise<ProgramStart> {
	const { runId, agentId, argv, cwd, limits } = launch;
	const env = { ...launch.env, REEVE_RUN_ID: runId, REEVE_AGENT: agentId };
	let own: RunGroups | null = null;
	try {
		own = hasLimits(limits) ? groups().create(runId, limits) : null;
		const child = own === null ? fork(argv, cwd, env) : forkLimited(own, argv, cwd, env, limits);
		// The start has already succeeded or failed; Node only reports it later.
		if (child.pid === undefined) {
			throw await new Promise<Error>((resolve) => child.once("error", resolve));
		}
		return { ok: true, program: watchChild(child, runId, own, own?.applyLimits(limits) ?? []) };
	} catch (error) {
		if (own !== null) groups().remove(own.paths);
		return { ok: false, failure: explainSpawnError(error, { argv, cwd, env }) };
	}
}

type Argv = ProgramLaunch["argv"];
type Env = ProgramLaunch["env"];

function fork([file, ...args]: Argv, cwd: string, env: Env): ChildProcess {
	return spawn(file, args, { cwd, env, detached: true, stdio: "pipe" });
}

function forkLimited(
	own: RunGroups,
	argv: Argv,
	cwd: string,
	env: Env,
	limits: ResourceLimits,
): ChildProcess {
	const limited = own.limitedArgv(argv, limits);
	// The wrapper program would be found and hide that this program is missing.
	if (limited !== argv && checkLaunch({ argv, cwd, env }) !== null) return fork(argv, cwd, env);
	return own.inside(() => fork(limited, cwd, env));
}

function watchChild(
	child: ChildProcess,
	runId: string,
	own: RunGroups | null,
	missingLimits: readonly string[],
): RunningProgram {
	let end: ProgramEnd | null = null;
	const exited = new Promise<ProgramEnd>((resolve) => {
		child.once("exit", (code, signal) => {
			const wasKilled = signal === "SIGKILL" || code === 128 + constants.signals.SIGKILL;
			const outOfMemory = wasKilled && (own?.countOomKills() ?? 0) > 0;
			end = { code, signal, atMs: Date.now(), outOfMemory };
			resolve(end);
		});
	});
	const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
	// Errors of the process object only concern signals, which are not sent through it. Errors of its
	// pipes matter to some callers, and must not crash the daemon without a listener.
	for (const source of [child, child.stdin, child.stdout, child.stderr]) {
		source?.on("error", () => {});
	}
	return {
		runId,
		pid: child.pid as number,
		stdin: child.stdin as Writable,
		stdout: child.stdout as Readable,
		stderr: child.stderr as Readable,
		exited,
		get end() {
			return end;
		},
		closed,
		groups: own?.paths ?? [],
		missingLimits,
	};
}

const orphans = createOrphanFinder();

/** Called right after the exit. Without a group or listing, a held pipe is noticed later. */
function mayHaveLeftovers({ runId, pid, groups }: RunningProgram): boolean {
	const isGroupEmpty = groups.every((group) => readGroupMembers(group).length === 0);
	return !isGroupEmpty || hasProcessGroup(pid) || orphans.hasOrphan(runId);
}

/** Signal 0 only checks for existence. */
function hasProcessGroup(pgid: number): boolean {
	try {
		process.kill(-pgid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== "ESRCH";
	}
}

/** About half a minute, including the duration of each attempt. */
const KILL_TRIES_MAX = 8;
const KILL_PAUSE_MS = 1_000;

function killOnce(program: RunningProgram): Promise<KillResult> {
	return killTree({
		runId: program.runId,
		root: identityOf(program),
		rootJustEnded: program.end !== null,
		groups: program.groups,
	});
}

/** Until its own process is reaped, the group id cannot be reused (S10). */
function killOwnGroup({ pid, end }: RunningProgram): void {
	if (end !== null) return;
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// Gone, or owned by another user: the next check decides.
	}
}

/**
 * Asks the program, and what it has started in its process group, to exit: the program that does the work may be behind
 * a shell.
 */
export function terminate({ pid, end }: RunningProgram): void {
	if (end !== null) return;
	try {
		process.kill(-pid, "SIGTERM");
	} catch {
		// Gone, or owned by another user: it is killed when its time is up.
	}
}

/** Kills the whole tree; when this resolves, its own process is reaped and its output read. */
export async function endProgram(program: RunningProgram): Promise<KillResult> {
	let killed = await killOnce(program);
	for (let tries = 1; tries < KILL_TRIES_MAX && !killed.ok; tries++) {
		// A host without free file descriptors cannot list its processes, but this needs none.
		killOwnGroup(program);
		await sleep(tries * KILL_PAUSE_MS);
		killed = await killOnce(program);
	}
	if (killed.ok) await program.exited;
	await settleOutput(program);
	return killed;
}

/** Kills leftover processes after its own process has exited. */
export async function endLeftovers(program: RunningProgram): Promise<KillResult> {
	if (mayHaveLeftovers(program)) return endProgram(program);
	if (await isInTime(program.closed, HELD_PIPE_MS)) return { ok: true, killed: [] };
	return endProgram(program);
}

/** Until it is reaped the pid cannot be reused, even if it has exited. */
function identityOf({ pid, end }: RunningProgram): ProcessIdentity {
	const entry = end === null ? lookUp(pid) : "none";
	// No process has this start time.
	const startTime = typeof entry === "string" ? "ended" : entry.startTime;
	return { bootId: readBootId(), pid, startTime };
}

/** How long reading the rest of the output may take after its writer has exited. */
const HELD_PIPE_MS = 1_000;

/** Reads the rest of the output. A foreign process that inherited the pipe does not delay the attempt. */
async function settleOutput({ closed, stdin, stdout, stderr }: RunningProgram): Promise<void> {
	if (await isInTime(closed, HELD_PIPE_MS)) return;
	for (const stream of [stdin, stdout, stderr]) stream.destroy();
}

/** How it exited, as text. */
export function renderEnd({ code, signal, outOfMemory }: ProgramEnd): string {
	if (outOfMemory) return "was killed by the kernel: out of memory (see `limits.memory`)";
	return signal === null ? `exited with code ${code}` : `was terminated by ${signal}`;
}
