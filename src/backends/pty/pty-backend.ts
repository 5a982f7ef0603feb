/**
 * Agents in terminals owned by Reeve. One small native process per run, the shim, owns the terminal,
 * the log and the exit status, and outlives the daemon; this is the daemon's side, which can restart at
 * any time (`src/native/PROTOCOL.md`).
 *
 * Each exit of a run that this client started or recovered is reported once (S8). Signals and kills go
 * through the shim, which signals only its own descendants (S10) and proves that none is left (S11). If
 * the shim itself was killed, they go to processes by identity.
 */

import { rmdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Argv, Groups } from "../../host/cgroup.js";
import { isAlive, readBootId } from "../../host/process-identity.js";
import { signalVerified } from "../../host/process-tree.js";
import { RunTrees } from "../../host/run-trees.js";
import { removeDeadSocket } from "../../host/socket-path.js";
import { shimPath } from "../../native/find-binary.js";
import type {
	AgentSignal,
	Backend,
	Deadline,
	KillResult,
	Recovered,
	RunExit,
	RunHandle,
	RunProcess,
	RunProcesses,
	RunReference,
	ScreenText,
	ScreenWatch,
	ScreenWatcher,
	StartRequest,
	StartResult,
	TerminalConnection,
	TerminalSize,
	TerminalViewer,
} from "../../ports/backend.js";
import { AgentFolders, isRunId } from "./agent-folder.js";
import { ConnectionLost } from "./connection.js";
import { describeEnded, describeTree } from "./describe-processes.js";
import { createEarlierFiles, type EarlierFiles } from "./earlier-version.js";
import { findRun } from "./find-run.js";
import { agentFolderOf, groupsOf } from "./handle.js";
import type { HeldRun } from "./held-run.js";
import { KnownRuns, recoveredAs } from "./known-runs.js";
import { LeftProcesses } from "./left-processes.js";
import { createStarterGroups, type GroupsOfStarter } from "./run-groups.js";
import {
	killThroughShim,
	listTree,
	type ShimConnection,
	signalWorkers,
} from "./shim-connection.js";
import { RunStarts } from "./start-run.js";
import { StarterClient } from "./starter-client.js";
import {
	starterArgv,
	starterEnvironment,
	starterLogPath,
	starterSocketPath,
} from "./starter-process.js";

export interface PtyBackendOptions {
	/** A directory of the backend, private to the user: the starter's socket and log, a directory per agent. */
	readonly folder: string;
	/** Its name, if its groups make it another backend. */
	readonly name?: string;
	/** The program `reeve-shim`, if it is not the shipped one. */
	readonly program?: string | undefined;
	/** Additional environment of the starter; for tests. */
	readonly starterEnv?: Readonly<Record<string, string>> | undefined;
	/** Starts the starter outside of this process's own unit. */
	readonly enclose?: (argv: Argv) => Argv;
	/** The control groups of its runs, if they are not below the starter's own; a text explains why there are none. */
	readonly groups?: Groups | string;
	/** How long a run that lost its terminal may take to exit by itself. */
	readonly orphanGraceMs?: number;
}

/** The starter of a directory as a program, for callers that run it elsewhere. */
export function starterOf({ folder, program, starterEnv }: PtyBackendOptions) {
	return {
		argv: starterArgv(program ?? shimPath(), folder),
		env: starterEnvironment(starterEnv ?? {}),
		socket: starterSocketPath(folder),
		log: starterLogPath(folder),
	};
}

/** How to show a run in another terminal. */
export interface AttachCommand {
	readonly argv: Argv;
	readonly agentId: string;
}

/** Null where no shim has the run, or its folder is gone. */
export function attachCommand(
	{ folder, program }: PtyBackendOptions,
	handle: RunHandle,
): AttachCommand | null {
	const folders = new AgentFolders(folder);
	const agent = agentFolderOf(handle);
	const about = agent === null ? null : folders.readAbout(agent);
	if (agent === null || about === null) return null;
	const { agentId, logDir } = about;
	return { agentId, argv: [program ?? shimPath(), "attach", folders.socketOf(agent), logDir] };
}

export function createPtyBackend(options: PtyBackendOptions): Backend {
	return new ShimBackend(options);
}

const ORPHAN_GRACE_MS = 10_000;
/** How often, and for how long in total, an empty list of processes is requested again: 100 times, 1 s. */
const EMPTY_CHECKS_MAX = 100;
const EMPTY_POLL_MS = 10;

class ShimBackend implements Backend {
	readonly name: string;
	readonly #folder: string;
	readonly #folders: AgentFolders;
	readonly #starter: StarterClient;
	readonly #starterGroups: GroupsOfStarter;
	/** Groups that are not below the starter's. */
	readonly #ownGroups: Groups | null;
	readonly #trees = new RunTrees(({ handle }) => ({
		root: handle?.process ?? null,
		groups: handle === null ? [] : groupsOf(handle),
	}));
	readonly #left: LeftProcesses;
	readonly #earlier: EarlierFiles;
	readonly #runs: KnownRuns;
	readonly #starts: RunStarts;
	readonly #listeners: ((exit: RunExit) => void)[] = [];
	/** Exits that arrived before a listener was registered. */
	#unreported: RunExit[] = [];
	#isClosed = false;

	constructor(options: PtyBackendOptions) {
		const { folder, program, groups } = options;
		this.name = options.name ?? "pty";
		this.#folder = folder;
		this.#folders = new AgentFolders(folder);
		this.#starter = new StarterClient({
			folder,
			program: () => program ?? shimPath(),
			env: options.starterEnv ?? {},
			enclose: options.enclose ?? null,
		});
		this.#starterGroups = createStarterGroups(folder, typeof groups === "string" ? groups : null);
		this.#ownGroups = typeof groups === "object" ? groups : null;
		this.#left = new LeftProcesses(this.#trees, this.#starter);
		this.#earlier = createEarlierFiles(folder, this.name);
		this.#runs = new KnownRuns({
			backend: this.name,
			folders: this.#folders,
			trees: this.#trees,
			left: this.#left,
			orphanGraceMs: options.orphanGraceMs ?? ORPHAN_GRACE_MS,
			findGroups: (runId, shimPid) => this.#findGroups(runId, shimPid),
			onExit: (exit) => this.#report(exit),
			earlier: this.#earlier,
		});
		this.#starts = new RunStarts({
			folders: this.#folders,
			starter: this.#starter,
			groups: typeof groups === "object" ? () => groups : this.#starterGroups.of,
			runs: this.#runs,
		});
	}

	/** Rejects if the request was sent and its outcome is unknown; then only `recover` can determine it. */
	start(request: StartRequest): Promise<StartResult> {
		return this.#starts.start(request);
	}

	async recover(runId: string, handle: RunHandle | null): Promise<Recovered> {
		if (!isRunId(runId)) return { state: "gone", rebooted: false };
		if (this.#starts.isStarting(runId)) return { state: "unknown", reason: "it is still starting" };
		const known = this.#runs.get(runId);
		if (known !== undefined) return recoveredAs(known);
		if (handle !== null && handle.process.bootId !== readBootId()) {
			return { state: "gone", rebooted: true };
		}
		const agent = handle === null ? null : agentFolderOf(handle);
		const found = await findRun(this.#folders, runId, agent);
		return this.#runs.adopt(runId, handle, found);
	}

	onExit(listener: (exit: RunExit) => void): void {
		this.#listeners.push(listener);
		const late = this.#unreported;
		this.#unreported = [];
		for (const exit of late) listener(exit);
	}

	async signal(handle: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]> {
		const sent = await this.#withShim({ runId: handle.runId, handle }, async ({ connection }) => {
			// A shell that leads the session must be signalled after its programs, by identity.
			if ((await listTree(connection)).length > 1) return null;
			return describeEnded(await signalWorkers(connection, signal), []);
		});
		return sent ?? this.#trees.signal(handle, signal);
	}

	setDeadline(handle: RunHandle, deadline: Deadline): void {
		this.#runs.get(handle.runId)?.setDeadline(deadline);
	}

	async signalEach(
		_run: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void> {
		for (const each of processes) signalVerified(each, signal);
	}

	async isRunning(handle: RunHandle): Promise<boolean | "unknown"> {
		return isAlive(handle.process);
	}

	/**
	 * An empty list is no proof: children of an exiting process are reparented to the shim while it lists
	 * them. Only the shim's own report is proof, and it follows immediately.
	 */
	async processes(run: RunReference): Promise<RunProcesses> {
		for (let look = 1; ; look++) {
			if (this.#isProvenGone(run)) return { ok: true, processes: [] };
			const listed = await this.#withShim(run, async ({ connection, status }) =>
				describeTree(await listTree(connection), status.shimPid),
			);
			if (listed === null) break;
			if (listed.length > 0) return { ok: true, processes: listed };
			if (look === EMPTY_CHECKS_MAX) {
				return {
					ok: false,
					reason: "the shim lists no process, but has not seen the last one exit",
				};
			}
			await sleep(EMPTY_POLL_MS);
		}
		// The shim may have reported the end during the request.
		if (this.#isProvenGone(run)) return { ok: true, processes: [] };
		return this.#left.list(run);
	}

	async kill(run: RunReference): Promise<KillResult> {
		if (this.#isProvenGone(run)) return { ok: true, killed: [] };
		const killed = await this.#withShim(run, killThroughShim);
		if (killed?.ok === true) this.#runs.get(run.runId)?.provenGone();
		if (killed !== null) return killed;
		return this.#isProvenGone(run) ? { ok: true, killed: [] } : this.#left.kill(run);
	}

	async input(handle: RunHandle, bytes: Uint8Array): Promise<void> {
		await (await this.#runOf(handle)).type(bytes);
	}

	async paste(handle: RunHandle, text: string): Promise<void> {
		await (await this.#runOf(handle)).type(Buffer.from(text), { isPaste: true });
	}

	async screen(handle: RunHandle): Promise<ScreenText> {
		return (await this.#runOf(handle)).screen();
	}

	async watchScreen(handle: RunHandle, watcher: ScreenWatcher): Promise<ScreenWatch> {
		return (await this.#runOf(handle)).watchScreen(watcher);
	}

	async attach(
		handle: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		try {
			return await (await this.#runOf(handle)).attach(viewer, size);
		} catch (error) {
			viewer.onClose((error as Error).message);
			return { write() {}, resize() {}, close() {} };
		}
	}

	async forget(runId: string): Promise<void> {
		this.#trees.forget(runId);
		this.#left.remove(runId);
		if (isRunId(runId)) this.#earlier.forget(runId);
		const run = this.#runs.forget(runId);
		if (run !== undefined) await this.#removeGroups(groupsOf(run.handle));
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		await this.#starter.close({ isIdle: this.#runs.isIdle });
		this.#runs.close();
		if (this.#runs.isIdle) {
			this.#starterGroups.sweep();
			await removeDeadSocket(starterSocketPath(this.#folder));
		}
		this.#starterGroups.close();
	}

	/** The run of a handle, including one that is new to this client. */
	async #runOf(handle: RunHandle): Promise<HeldRun> {
		if (this.#runs.get(handle.runId) === undefined) await this.recover(handle.runId, handle);
		const run = this.#runs.get(handle.runId);
		if (run === undefined) throw new Error(`run ${handle.runId} has no terminal`);
		return run;
	}

	/** The response of the run's shim; null if there is no responding shim. */
	async #withShim<T>(
		{ runId, handle }: RunReference,
		ask: (shim: ShimConnection) => Promise<T>,
	): Promise<T | null> {
		const run = this.#runs.get(runId);
		if (run === undefined && handle !== null) {
			await this.recover(runId, handle);
		}
		const shim = this.#runs.get(runId)?.shim ?? null;
		if (shim === null) return null;
		try {
			return await ask(shim);
		} catch (error) {
			if (error instanceof ConnectionLost) return null;
			throw error;
		}
	}

	/** The run's shim has seen its last process exit. */
	#isProvenGone({ runId }: RunReference): boolean {
		return this.#runs.get(runId)?.isTreeGone ?? false;
	}

	#findGroups(runId: string, shimPid: number): readonly string[] {
		if (this.#ownGroups !== null) return this.#ownGroups.find(runId);
		return this.#starterGroups.find(runId, shimPid);
	}

	/** Off the daemon's own thread: the kernel may need long for it, and the next run need not wait. */
	async #removeGroups(paths: readonly string[]): Promise<void> {
		if (this.#ownGroups !== null) this.#ownGroups.remove(paths);
		// Also where this client has never needed the starter.
		else for (const path of paths) await rmdir(path).catch(() => {});
	}

	#report(exit: RunExit): void {
		if (this.#isClosed) return;
		if (this.#listeners.length === 0) this.#unreported.push(exit);
		for (const listener of this.#listeners) listener(exit);
	}
}
