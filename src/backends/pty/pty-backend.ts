/**
 * Agents in terminals of our own, for hosts without tmux. A separate program, the holder, owns the
 * terminals and sees how agents end; this is the daemon's side, which can go and come back.
 *
 * Signals and kills go to processes directly, by identity (S10), so they work also when the holder is
 * gone. Each exit of a run that this client started or recovered is reported once (S8), also when the
 * connection or the holder was lost meanwhile; if nobody saw how it ended, code and signal are null.
 */

import { fileURLToPath } from "node:url";
import type { Argv } from "../../host/cgroup.js";
import { isAlive, readBootId } from "../../host/process-identity.js";
import { killTree, signalVerified } from "../../host/process-tree.js";
import type {
	AgentSignal,
	Backend,
	KillResult,
	Recovered,
	RunExit,
	RunHandle,
	StartRequest,
	StartResult,
	TerminalConnection,
	TerminalSize,
	TerminalViewer,
} from "../../ports/backend.js";
import { attachViewer } from "./attach-viewer.js";
import { groupsOf } from "./handle.js";
import { ConnectionLost, HolderClient } from "./holder-client.js";
import { holderLogPath, holderSocketPath } from "./holder-paths.js";
import { type HolderPlace, holderEnvironment } from "./holder-process.js";

export interface PtyBackendOptions {
	/** A folder of the backend's own, private to the user: the holder's socket, lock, log and records. */
	readonly folder: string;
	/** The holder's program, where it is not the one beside this file. */
	readonly holderProgram?: string | undefined;
	/** What to put into the holder's environment; for tests. */
	readonly holderEnv?: Readonly<Record<string, string>> | undefined;
	/** Starts the holder outside of this process's own unit. */
	readonly enclose?: (argv: Argv) => Argv;
}

const HOLDER_PROGRAM = fileURLToPath(new URL("./holder/holder-main.js", import.meta.url));

/** The holder of a folder as a program, for whoever runs it in a place of its own. */
export function holderOf({ folder, holderProgram, holderEnv }: PtyBackendOptions) {
	return {
		argv: [process.execPath, holderProgram ?? HOLDER_PROGRAM, folder],
		env: holderEnvironment(holderEnv ?? {}),
		socket: holderSocketPath(folder),
		log: holderLogPath(folder),
	};
}

export function createPtyBackend(options: PtyBackendOptions): Backend {
	return new HeldBackend({
		folder: options.folder,
		program: options.holderProgram ?? HOLDER_PROGRAM,
		env: options.holderEnv ?? {},
		enclose: options.enclose ?? null,
	});
}

class HeldBackend implements Backend {
	readonly name = "pty";
	readonly #place: HolderPlace;
	readonly #client: HolderClient;
	/** Runs whose exit is still to be reported. */
	readonly #watched = new Map<string, RunHandle | null>();
	readonly #listeners: ((exit: RunExit) => void)[] = [];
	/** Exits that came before anybody listened. */
	#unheard: RunExit[] = [];

	constructor(place: HolderPlace) {
		this.#place = place;
		this.#client = new HolderClient(place, {
			onExit: (exit) => this.#report(exit),
			onDrop: () => this.#watched.size > 0,
			onReconnect: () => this.#catchUp(),
		});
	}

	/** Rejects when the request was sent and its outcome is unknown; then only `recover` can tell. */
	async start(request: StartRequest): Promise<StartResult> {
		const { runId } = request;
		// Watched from before the start: an exit may come before the answer.
		if (!this.#watched.has(runId)) this.#watched.set(runId, null);
		try {
			const { header } = await this.#client.ask({ type: "start", request });
			if (header.type !== "started") throw new Error("the holder gave no answer to a start");
			if (!header.result.ok) this.#watched.delete(runId);
			else if (this.#watched.has(runId)) this.#watched.set(runId, header.result.handle);
			if (header.exit !== undefined) this.#report(header.exit);
			return header.result;
		} catch (error) {
			if (error instanceof ConnectionLost) throw error;
			this.#watched.delete(runId);
			return { ok: false, failure: { permanent: false, detail: (error as Error).message } };
		}
	}

	async recover(runId: string, handle: RunHandle | null): Promise<Recovered> {
		const found = await this.#find(runId);
		if (found.state === "running") this.#watched.set(runId, found.handle);
		if (found.state !== "gone" || handle === null) return found;
		if (handle.process.bootId !== readBootId()) return { state: "gone", rebooted: true };
		// The records are lost, but a process is its own proof.
		const alive = isAlive(handle.process);
		if (alive === "unknown") return { state: "unknown", reason: "its process cannot be looked at" };
		return alive ? { state: "running", handle } : found;
	}

	onExit(listener: (exit: RunExit) => void): void {
		this.#listeners.push(listener);
		const late = this.#unheard;
		this.#unheard = [];
		for (const exit of late) listener(exit);
	}

	async signal(handle: RunHandle, signal: AgentSignal): Promise<void> {
		if (handle.process.bootId === readBootId()) signalVerified(handle.process, signal);
	}

	async isRunning(handle: RunHandle): Promise<boolean | "unknown"> {
		return isAlive(handle.process);
	}

	kill(handle: RunHandle): Promise<KillResult> {
		return killTree({ runId: handle.runId, root: handle.process, groups: groupsOf(handle) });
	}

	async input({ runId }: RunHandle, bytes: Uint8Array): Promise<void> {
		await this.#client.ask({ type: "input", runId }, bytes);
	}

	async screen({ runId }: RunHandle): Promise<string> {
		const { bytes } = await this.#client.ask({ type: "screen", runId });
		return bytes.toString("utf8");
	}

	attach(
		{ runId }: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		return attachViewer(this.#place, runId, viewer, size);
	}

	async forget(runId: string): Promise<void> {
		await this.#client.ask({ type: "forget", runId });
	}

	async close(): Promise<void> {
		this.#client.close();
	}

	async #find(runId: string): Promise<Recovered> {
		try {
			const { header } = await this.#client.ask({ type: "find", runId });
			if (header.type === "found") return header.found;
			return { state: "unknown", reason: "the holder gave no answer" };
		} catch (error) {
			return { state: "unknown", reason: (error as Error).message };
		}
	}

	/** After a lost connection, and perhaps with a new holder. */
	async #catchUp(): Promise<void> {
		for (const runId of [...this.#watched.keys()]) {
			const found = await this.#find(runId);
			if (found.state === "unknown") throw new Error(found.reason);
			if (found.state === "exited") this.#report(found.exit);
			// A start that was never confirmed is asked for again by `start` itself.
			const handle = this.#watched.get(runId) ?? null;
			if (found.state !== "gone" || handle === null || isAlive(handle.process) !== false) continue;
			this.#report({ runId, code: null, signal: null, atMs: Date.now(), outOfMemory: false });
		}
	}

	#report(exit: RunExit): void {
		if (!this.#watched.delete(exit.runId)) return;
		if (this.#listeners.length === 0) this.#unheard.push(exit);
		for (const listener of this.#listeners) listener(exit);
	}
}
