/**
 * Runs the command of a check: bounded in time and output. No process of it is left when it has finished,
 * whatever it started; the mark finds those that left its process group.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { renderExit } from "../core/exit.js";
import { renderNoAnswer } from "../core/health.js";
import { createOrphanFinder } from "../host/orphans.js";
import { lookUp, readBootId } from "../host/process-identity.js";
import { killTree } from "../host/process-tree.js";
import { explainSpawnError } from "../host/spawn-errors.js";

/** Of both streams together; the end is kept. */
const OUTPUT_BYTES_MAX = 4_096;
/** How long its output may stay open after its exit. */
const OUTPUT_MS_MAX = 200;

export interface CheckCommand {
	readonly argv: readonly string[];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	readonly timeoutMs: number;
	/** Carried by all of its processes, and by no process of another command at the same time. */
	readonly mark: string;
}

const orphans = createOrphanFinder();
/** The commands that run now. */
const running = new Set<number>();
process.on("exit", () => {
	for (const pid of running) killGroup(pid);
});

/** Why the check failed, as text; null if it succeeded. */
export async function runCheckCommand(command: CheckCommand): Promise<string | null> {
	const { argv, cwd, mark, timeoutMs } = command;
	const [program = "", ...args] = argv;
	const env = { ...command.env, REEVE_RUN_ID: mark };
	const failed = (error: unknown) =>
		explainSpawnError(error, { argv: [program, ...args], cwd, env }).detail;
	let child: ChildProcess;
	try {
		child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
	} catch (error) {
		return failed(error);
	}
	const { pid } = child;
	if (pid === undefined) {
		return failed(await new Promise((resolve) => child.once("error", resolve)));
	}
	running.add(pid);
	try {
		return await finish(child, pid, mark, timeoutMs);
	} finally {
		running.delete(pid);
		child.stdout?.destroy();
		child.stderr?.destroy();
	}
}

/** Kills what a command with this mark has left, of an earlier daemon for example. */
export async function killMarked(mark: string): Promise<void> {
	await killTree({ runId: mark, root: null, groups: [] });
}

async function finish(
	child: ChildProcess,
	pid: number,
	mark: string,
	timeoutMs: number,
): Promise<string | null> {
	const output = keepEnd(child);
	const exited = new Promise<string | null>((resolve) => {
		child.once("exit", (code, signal) => {
			resolve(code === 0 ? null : renderExit({ code, signal }));
		});
	});
	const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
	const late = new AbortController();
	const result = await Promise.race([exited, sleep(timeoutMs, "late", { signal: late.signal })]);
	if (result === "late") {
		// Not reaped yet, so the pid is still its own.
		const killed = await killTree({ runId: mark, root: identityOf(pid), groups: [] });
		if (!killed.ok) killGroup(pid);
		const left = killed.ok ? "" : `; its processes cannot be killed: ${killed.reason}`;
		return withOutput(`${renderNoAnswer(timeoutMs)}${left}`, output());
	}
	late.abort();
	await Promise.race([closed, sleep(OUTPUT_MS_MAX)]);
	if (hasGroup(pid) || orphans.hasOrphan(mark)) await killMarked(mark);
	return result === null ? null : withOutput(result, output());
}

function identityOf(pid: number) {
	const entry = lookUp(pid);
	if (typeof entry === "string") return null;
	return { bootId: readBootId(), pid, startTime: entry.startTime };
}

function keepEnd(child: ChildProcess): () => string {
	let kept: Buffer = Buffer.alloc(0);
	const keep = (chunk: Buffer) => {
		kept = Buffer.concat([kept, chunk]).subarray(-OUTPUT_BYTES_MAX);
	};
	child.stdout?.on("data", keep);
	child.stderr?.on("data", keep);
	return () => kept.toString("utf8");
}

/** With the last line of the output, which usually has the reason. */
function withOutput(what: string, output: string): string {
	const last = output
		.split("\n")
		.findLast((line) => line.trim() !== "")
		?.trim();
	return last === undefined ? what : `${what}: ${last}`;
}

function hasGroup(pgid: number): boolean {
	try {
		process.kill(-pgid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== "ESRCH";
	}
}

function killGroup(pgid: number): void {
	try {
		process.kill(-pgid, "SIGKILL");
	} catch {
		// Gone.
	}
}
