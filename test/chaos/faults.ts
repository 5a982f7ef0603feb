/** The faults of a chaos run. Each fault is over when its promise resolves. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadDriver } from "../../src/store/sqlite/driver.js";
import type { SeededRandom } from "../../src/testing/random.js";
import type { Book } from "./book.js";
import { type ProcessKind, readProcesses, signal } from "./processes.js";
import { pickWeighted, type Weighted } from "./weighted.js";
import type { ChaosWorld } from "./world.js";

export interface FaultContext {
	readonly world: ChaosWorld;
	readonly book: Book;
	readonly random: SeededRandom;
}

type Fault = (context: FaultContext) => Promise<void>;

/** A random process of a kind. */
function pick({ random }: FaultContext, kind: ProcessKind): number | null {
	const [first, ...others] = readProcesses()
		.filter((each) => each.kind === kind && !each.isZombie)
		.map(({ pid }) => pid);
	return first === undefined ? null : random.pick([first, ...others]);
}

const kill =
	(kind: ProcessKind, ...signals: [NodeJS.Signals, ...NodeJS.Signals[]]): Fault =>
	async (context) => {
		const pid = pick(context, kind);
		if (pid === null) return context.book.count(`fault ${kind}: none there`);
		const name = context.random.pick(signals);
		context.book.note(`fault ${name} ${kind} ${pid}`);
		context.book.count(`fault ${name} ${kind}`);
		signal(pid, name);
	};

const stop =
	(kind: ProcessKind, forMs: number): Fault =>
	async (context) => {
		const pid = pick(context, kind);
		if (pid === null) return;
		context.book.note(`fault SIGSTOP ${kind} ${pid}`);
		context.book.count(`fault SIGSTOP ${kind}`);
		signal(pid, "SIGSTOP");
		await sleep(context.random.int(100, forMs));
		signal(pid, "SIGCONT");
		context.book.note(`fault SIGCONT ${kind} ${pid}`);
	};

const fillDisk: Fault = async ({ world, book, random }) => {
	book.note("fault disk full");
	book.count("fault disk full");
	world.fillDisk();
	const untilMs = performance.now() + random.int(300, 4_000);
	while (performance.now() < untilMs) {
		await sleep(200);
		// Allocates again any space that was freed in the meantime.
		world.fillDisk();
	}
	world.freeDisk();
	book.note("fault disk free");
};

const lockDatabase: Fault = async ({ world, book, random }) => {
	let other: Awaited<ReturnType<typeof openDatabase>> | null = null;
	try {
		other = await openDatabase(world);
		other.exec("BEGIN EXCLUSIVE");
	} catch {
		book.count("fault database locked: could not");
		other?.close();
		return;
	}
	book.note("fault database locked");
	book.count("fault database locked");
	await sleep(random.int(300, 4_000));
	other.exec("ROLLBACK");
	other.close();
	book.note("fault database unlocked");
};

async function openDatabase({ home }: ChaosWorld) {
	return (await loadDriver()).open(join(home, "reeve.db"), { readOnly: false });
}

const FAULTS: readonly Weighted<Fault>[] = [
	[6, kill("daemon", "SIGKILL")],
	[2, kill("daemon", "SIGTERM")],
	[4, stop("daemon", 4_000)],
	[2, kill("starter", "SIGKILL")],
	[1, stop("starter", 3_000)],
	[4, kill("shim", "SIGKILL")],
	[2, stop("shim", 3_000)],
	[3, kill("tmux_server", "SIGKILL")],
	[2, stop("tmux_server", 3_000)],
	[1, kill("pane", "SIGKILL")],
	[1, stop("pane", 3_000)],
	[8, kill("session", "SIGKILL", "SIGTERM", "SIGSEGV")],
	[3, stop("session", 3_000)],
	[4, kill("task", "SIGKILL")],
	[2, stop("task", 3_000)],
	[3, fillDisk],
	[3, lockDatabase],
];

/** One fault after another until the signal is aborted; resolves when the last is over. */
export async function runFaults(
	context: FaultContext,
	pauseMs: number,
	over: AbortSignal,
): Promise<void> {
	const { random } = context;
	while (!over.aborted) {
		await sleep(random.int(0, pauseMs * 2), undefined, { signal: over }).catch(() => {});
		if (!over.aborted) await pickWeighted(random, FAULTS)(context);
	}
}

/** Starts a daemon whenever there is none, as a service manager would. */
export async function keepDaemon(
	{ world, book, random }: FaultContext,
	over: AbortSignal,
): Promise<void> {
	while (!over.aborted) {
		await sleep(random.int(50, 800));
		if (over.aborted || readProcesses().some(({ kind }) => kind === "daemon")) continue;
		const { code } = await world.cli(["daemon", "start"]);
		book.count(`daemon start: ${code === 0 ? "done" : `exit ${code}`}`);
	}
}
