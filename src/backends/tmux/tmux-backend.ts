/**
 * Agents in sessions of Reeve's own tmux server, which is not shared and outlives the daemon. Each runs
 * under a launcher that records its exit, so nothing that tmux misses is lost.
 *
 * Signals and kills go to processes directly, by identity (S10), so they also work without tmux. Each
 * exit of a run that this client started or recovered is reported once (S8).
 */

import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { markPaste } from "../../core/inbox.js";
import { createGroups, type Groups } from "../../host/cgroup.js";
import { isAlive } from "../../host/process-identity.js";
import { RunTrees } from "../../host/run-trees.js";
import type {
	AgentSignal,
	Backend,
	KillResult,
	Recovered,
	RunExit,
	RunHandle,
	RunProcess,
	RunProcesses,
	RunReference,
	StartRequest,
	StartResult,
	TerminalConnection,
	TerminalSize,
	TerminalViewer,
} from "../../ports/backend.js";
import { attachViewer } from "./attach-viewer.js";
import type { Enclose } from "./control-client.js";
import { quote } from "./control-parser.js";
import { ExitWatch } from "./exit-watch.js";
import { findRun } from "./find-run.js";
import { hasTerminal, sessionOf, targetOf, treeOf } from "./handle.js";
import { isRunId, RunFiles } from "./run-files.js";
import { startRun } from "./start-run.js";
import { ownerOf, preparePlace, serverPlace, type TmuxPlace } from "./tmux-place.js";
import { TmuxServer } from "./tmux-server.js";

export interface TmuxBackendOptions {
	/** A directory of the backend, private to the user: the server's socket, programs and records. */
	readonly folder: string;
	/** How long a run that lost its terminal may take to exit by itself. */
	readonly orphanGraceMs?: number;
	/** The control groups of its runs, if they are not below this process's own. */
	readonly groups?: Groups;
	/** Starts the server outside of this process's own unit. */
	readonly enclose?: Enclose;
	/** Its name, if its groups make it another backend. */
	readonly name?: string;
}

export function createTmuxBackend(options: TmuxBackendOptions): Backend {
	return new SessionBackend(options);
}

const ORPHAN_GRACE_MS = 10_000;
const KEYS_PER_COMMAND = 512;
const TYPED_BYTES_MAX = 4 * 1024 * 1024;

class SessionBackend implements Backend {
	readonly name: string;
	readonly #place: TmuxPlace;
	readonly #watch: ExitWatch;
	readonly #trees = new RunTrees((run) => treeOf(run, this.#place.groups));
	readonly #starting = new Map<string, Promise<StartResult>>();
	readonly #listeners: ((exit: RunExit) => void)[] = [];
	/** Exits that arrived before a listener was registered. */
	#unheard: RunExit[] = [];
	#isPrepared = false;

	constructor({ folder, name = "tmux", ...options }: TmuxBackendOptions) {
		this.name = name;
		const server = new TmuxServer(serverPlace(folder, options.enclose ?? null), {
			onPaneDeath: () => this.#watch.lookSoon(),
			onDrop: () => this.#watch.look(),
		});
		const files = new RunFiles(folder, (runId) => this.#watch.onRecord(runId));
		const groups = options.groups ?? createGroups(ownerOf(folder));
		this.#place = { name, folder, server, files, groups };
		const orphanGraceMs = options.orphanGraceMs ?? ORPHAN_GRACE_MS;
		this.#watch = new ExitWatch(this.#place, orphanGraceMs, (exit) => this.#report(exit));
	}

	/** Rejects if it is unknown whether the run was started; then only `recover` can determine it. */
	async start(request: StartRequest): Promise<StartResult> {
		const { runId } = request;
		if (!isRunId(runId)) {
			return { ok: false, failure: { permanent: true, detail: `invalid run id: ${runId}` } };
		}
		const begun = this.#starting.get(runId) ?? this.#begin(request);
		this.#starting.set(runId, begun);
		try {
			return await begun;
		} finally {
			this.#starting.delete(runId);
		}
	}

	async recover(runId: string, handle: RunHandle | null): Promise<Recovered> {
		if (!isRunId(runId)) return { state: "gone", rebooted: false };
		if (this.#starting.has(runId)) return { state: "unknown", reason: "it is still starting" };
		try {
			this.#prepare();
		} catch (error) {
			return { state: "unknown", reason: (error as Error).message };
		}
		const found = await findRun(this.#place, runId, handle);
		if (found.state === "running") {
			this.#watch.add(runId, found.handle);
			this.#watch.look();
		} else if (found.state === "exited" && !this.#watch.has(runId)) {
			void this.#watch.reap(runId, false);
		}
		return found;
	}

	onExit(listener: (exit: RunExit) => void): void {
		this.#listeners.push(listener);
		const late = this.#unheard;
		this.#unheard = [];
		for (const exit of late) listener(exit);
	}

	signal(handle: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]> {
		return this.#trees.signal(handle, signal);
	}

	signalEach(
		run: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void> {
		return this.#trees.signalEach(run, processes, signal);
	}

	async isRunning(handle: RunHandle): Promise<boolean | "unknown"> {
		return isAlive(handle.process);
	}

	processes(run: RunReference): Promise<RunProcesses> {
		return this.#trees.processes(run);
	}

	kill(run: RunReference): Promise<KillResult> {
		return this.#trees.kill(run);
	}

	async input(handle: RunHandle, bytes: Uint8Array): Promise<void> {
		needTerminal(handle);
		if (bytes.length > TYPED_BYTES_MAX) throw new Error("the input is too large");
		const keys = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
		const lines: Promise<unknown>[] = [];
		for (let from = 0; from < keys.length; from += KEYS_PER_COMMAND) {
			const some = keys.slice(from, from + KEYS_PER_COMMAND).join(" ");
			lines.push(this.#place.server.run(`send-keys -t '${targetOf(handle.runId)}' -H ${some}`));
		}
		await Promise.all(lines);
	}

	async paste(handle: RunHandle, text: string): Promise<void> {
		needTerminal(handle);
		const { server, folder } = this.#place;
		const target = quote(targetOf(handle.runId));
		const [[flag = ""] = []] = await server.run(
			`display-message -p -t ${target} '#{bracket_paste_flag}'`,
		);
		if (flag === "1") return this.input(handle, Buffer.from(markPaste(text)));
		if (flag === "0" || text === "") return this.input(handle, Buffer.from(text));
		// This version does not report the mode, but its own paste follows it.
		const name = `reeve-${randomUUID()}`;
		const file = join(folder, name);
		await writeFile(file, text, { mode: 0o600, flag: "wx" });
		try {
			await server.run(`load-buffer -b ${name} ${quote(file)}`);
			await server.run(`paste-buffer -d -p -r -b ${name} -t ${target}`);
		} finally {
			await rm(file, { force: true });
		}
	}

	async screen(handle: RunHandle): Promise<string> {
		needTerminal(handle);
		const [lines = []] = await this.#place.server.run(
			`capture-pane -p -t '${targetOf(handle.runId)}'`,
		);
		return lines.join("\n").trimEnd();
	}

	async attach(
		handle: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		needTerminal(handle);
		const viewed = {
			server: this.#place.server,
			session: sessionOf(handle.runId),
			write: (bytes: Uint8Array) => void this.input(handle, bytes).catch(() => {}),
		};
		return attachViewer(viewed, viewer, size);
	}

	async forget(runId: string): Promise<void> {
		this.#trees.forget(runId);
		if (isRunId(runId) && this.#place.files.has(runId, "exit")) this.#place.files.remove(runId);
	}

	async close(): Promise<void> {
		await this.#watch.close();
		this.#place.files.close();
		await this.#place.server.close();
		this.#place.groups.sweep();
	}

	#prepare(): void {
		if (this.#isPrepared) return;
		preparePlace(this.#place.folder);
		this.#place.files.open();
		this.#place.files.prune();
		// Groups of runs that ended unobserved, or whose last process exited late.
		this.#place.groups.sweep();
		this.#isPrepared = true;
	}

	async #begin(request: StartRequest): Promise<StartResult> {
		const { runId } = request;
		try {
			this.#prepare();
		} catch (error) {
			return { ok: false, failure: { permanent: false, detail: (error as Error).message } };
		}
		// Watched from before the start: an exit may come before the response.
		this.#watch.add(runId, null);
		const started = await startRun(this.#place, request, () => findRun(this.#place, runId, null));
		if (started.ok) this.#watch.add(runId, started.handle);
		else this.#watch.remove(runId);
		return started;
	}

	#report(exit: RunExit): void {
		if (this.#listeners.length === 0) this.#unheard.push(exit);
		for (const listener of this.#listeners) listener(exit);
	}
}

function needTerminal(handle: RunHandle): void {
	if (!hasTerminal(handle)) throw new Error("the agent has no terminal");
}
