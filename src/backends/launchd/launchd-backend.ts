/**
 * Agents as jobs of launchd: each run has its own job, in which a program owns its terminal, so that the end of one
 * owner never affects another agent (S17), and `launchctl print` lists every running agent.
 *
 * A layer over another backend, which owns the terminals: each run has its own instance of it in its own directory.
 * That one starts and stops processes, records exits and types; this one manages the job. The environment of an agent
 * is sent over a socket and never written to a property list (A5).
 */

import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { renderPropertyList } from "../../home/property-list.js";
import { replaceFileSync } from "../../home/replace-file.js";
import { readBootId } from "../../host/process-identity.js";
import { makePrivateFolder } from "../../host/socket-path.js";
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
import type { Launchctl } from "./launchctl.js";

/** The program that owns terminals for a directory; it stays in the foreground. */
export interface HolderProgram {
	readonly argv: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	/** Its socket, once it is ready. */
	readonly socket: string;
	readonly log: string;
}

export interface LaunchdBackendOptions {
	/** A directory of the backend, private to the user. */
	readonly folder: string;
	readonly launchctl: Launchctl;
	/** The backend that owns the terminal of a run, in the given directory. */
	readonly inner: (folder: string) => Backend;
	readonly holder: (folder: string) => HolderProgram;
}

export function createLaunchdBackend(options: LaunchdBackendOptions): Backend {
	return new JobBackend(options);
}

interface Kept {
	readonly folder: string;
	readonly label: string;
	readonly backend: Backend;
	/** Pending while the holder is starting. */
	starting: Promise<void> | null;
}

const READY_MS_MAX = 30_000;
const POLL_MS = 20;
/** Run ids become names of jobs. */
const isRunId = (text: string) => /^[A-Za-z0-9][\w.-]{0,127}$/.test(text);

class JobBackend implements Backend {
	readonly name = "launchd";
	readonly #options: LaunchdBackendOptions;
	readonly #kept = new Map<string, Kept>();
	readonly #listeners: ((exit: RunExit) => void)[] = [];
	/** Exits that arrived before a listener was registered. */
	#unreported: RunExit[] = [];

	constructor(options: LaunchdBackendOptions) {
		this.#options = options;
	}

	/** Rejects if the outcome is unknown; then only `recover` can determine it. */
	async start(request: StartRequest): Promise<StartResult> {
		const { runId } = request;
		const refuse = (permanent: boolean, detail: string): StartResult => ({
			ok: false,
			failure: { permanent, detail },
		});
		if (!isRunId(runId)) return refuse(true, `invalid run id: ${runId}`);
		const kept = this.#keep(runId);
		try {
			await this.#ensureHolder(kept);
		} catch (error) {
			return refuse(false, (error as Error).message);
		}
		const started = await kept.backend.start(request);
		if (started.ok) return { ok: true, handle: this.#outer(started.handle) };
		await this.#dismiss(runId);
		return started;
	}

	async recover(runId: string, handle: RunHandle | null): Promise<Recovered> {
		if (!isRunId(runId)) return { state: "gone", rebooted: false };
		try {
			const { label, folder } = this.#place(runId);
			if (!existsSync(folder) && (await this.#options.launchctl.print(label)) === null) {
				if (handle === null) return { state: "gone", rebooted: false };
				if (handle.process.bootId !== readBootId()) return { state: "gone", rebooted: true };
			}
			const kept = this.#keep(runId);
			await this.#ensureHolder(kept);
			const found = await kept.backend.recover(runId, handle === null ? null : inner(handle));
			return found.state === "running" ? { ...found, handle: this.#outer(found.handle) } : found;
		} catch (error) {
			return { state: "unknown", reason: (error as Error).message };
		}
	}

	onExit(listener: (exit: RunExit) => void): void {
		this.#listeners.push(listener);
		const late = this.#unreported;
		this.#unreported = [];
		for (const exit of late) listener(exit);
	}

	signal(handle: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]> {
		return this.#keep(handle.runId).backend.signal(inner(handle), signal);
	}

	setDeadline(handle: RunHandle, deadline: Deadline): void {
		this.#keep(handle.runId).backend.setDeadline(inner(handle), deadline);
	}

	signalEach(
		run: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void> {
		return this.#keep(run.runId).backend.signalEach(innerRun(run), processes, signal);
	}

	isRunning(handle: RunHandle): Promise<boolean | "unknown"> {
		return this.#keep(handle.runId).backend.isRunning(inner(handle));
	}

	processes(run: RunReference): Promise<RunProcesses> {
		return this.#keep(run.runId).backend.processes(innerRun(run));
	}

	kill(run: RunReference): Promise<KillResult> {
		return this.#keep(run.runId).backend.kill(innerRun(run));
	}

	input(handle: RunHandle, bytes: Uint8Array): Promise<void> {
		return this.#keep(handle.runId).backend.input(inner(handle), bytes);
	}

	paste(handle: RunHandle, text: string): Promise<void> {
		return this.#keep(handle.runId).backend.paste(inner(handle), text);
	}

	screen(handle: RunHandle): Promise<ScreenText> {
		return this.#keep(handle.runId).backend.screen(inner(handle));
	}

	watchScreen(handle: RunHandle, watcher: ScreenWatcher): Promise<ScreenWatch> {
		return this.#keep(handle.runId).backend.watchScreen(inner(handle), watcher);
	}

	attach(
		handle: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		return this.#keep(handle.runId).backend.attach(inner(handle), viewer, size);
	}

	async forget(runId: string): Promise<void> {
		if (!isRunId(runId)) return;
		const { folder } = this.#place(runId);
		if (existsSync(folder)) await this.#dismiss(runId);
	}

	async close(): Promise<void> {
		await Promise.all([...this.#kept.values()].map(({ backend }) => backend.close()));
		this.#kept.clear();
	}

	/** Short, since it contains sockets, and the same for every daemon. */
	#place(runId: string): { readonly folder: string; readonly label: string } {
		const hash = createHash("sha256").update(`${this.#options.folder}\0${runId}`).digest("hex");
		const name = hash.slice(0, 16);
		return { folder: join(this.#options.folder, name), label: `reeve.run.${name}` };
	}

	#keep(runId: string): Kept {
		const known = this.#kept.get(runId);
		if (known !== undefined) return known;
		const { folder, label } = this.#place(runId);
		const backend = this.#options.inner(folder);
		backend.onExit((exit) => this.#report(exit));
		const kept: Kept = { folder, label, backend, starting: null };
		this.#kept.set(runId, kept);
		return kept;
	}

	#outer(handle: RunHandle): RunHandle {
		const { label } = this.#place(handle.runId);
		return { ...handle, backend: this.name, data: { ...handle.data, label } };
	}

	/** Resolves when the holder of a run is reachable, in its own job. */
	#ensureHolder(kept: Kept): Promise<void> {
		kept.starting ??= this.#startHolder(kept).finally(() => {
			kept.starting = null;
		});
		return kept.starting;
	}

	async #startHolder({ folder, label }: Kept): Promise<void> {
		const { launchctl } = this.#options;
		const holder = this.#options.holder(folder);
		if (await accepts(holder.socket)) return;
		const job = await launchctl.print(label);
		if (job !== null) {
			if (job.pid === null) await launchctl.kickstart(label);
			return this.#waitUntilReady(label, holder.socket);
		}
		const isNew = !existsSync(folder);
		try {
			makePrivateFolder(this.#options.folder);
			makePrivateFolder(folder);
			const file = join(folder, "job.plist");
			replaceFileSync(file, renderJob(label, holder));
			await launchctl.bootstrap(file);
			await this.#waitUntilReady(label, holder.socket);
		} catch (error) {
			// There was no job before, so no other run loses its job.
			await launchctl.bootout(label).catch(() => {});
			if (isNew) rmSync(folder, { recursive: true, force: true });
			throw error;
		}
	}

	async #waitUntilReady(label: string, socket: string): Promise<void> {
		const untilMs = performance.now() + READY_MS_MAX;
		while (!(await accepts(socket))) {
			const job = await this.#options.launchctl.print(label);
			if (job?.pid === null && job.ended !== null) {
				throw new Error(`the job ${label} exited before it was ready (${job.ended})`);
			}
			if (performance.now() > untilMs) throw new Error(`the job ${label} did not become ready`);
			await sleep(POLL_MS);
		}
	}

	/** The run is no longer needed: removes its job, its holder and its directory. */
	async #dismiss(runId: string): Promise<void> {
		const { folder, label } = this.#place(runId);
		const kept = this.#kept.get(runId);
		this.#kept.delete(runId);
		await kept?.backend.close();
		await this.#options.launchctl.bootout(label);
		rmSync(folder, { recursive: true, force: true });
	}

	#report(exit: RunExit): void {
		if (this.#listeners.length === 0) this.#unreported.push(exit);
		for (const listener of this.#listeners) listener(exit);
	}
}

/** In the terms of the inner backend. */
const inner = (handle: RunHandle): RunHandle => ({ ...handle, backend: "pty" });
const innerRun = (run: RunReference): RunReference => ({
	...run,
	handle: run.handle === null ? null : inner(run.handle),
});

function renderJob(label: string, { argv, env, log }: HolderProgram): string {
	return renderPropertyList(
		{
			Label: label,
			ProgramArguments: argv,
			EnvironmentVariables: env,
			WorkingDirectory: "/",
			StandardErrorPath: log,
			RunAtLoad: true,
			// Remaining processes are stopped by the inner backend, and outlive the holder until then.
			AbandonProcessGroup: true,
			// Otherwise agents would be throttled as background work.
			ProcessType: "Interactive",
		},
		"A run of Reeve. Created when it starts, removed with its history.",
	);
}

function accepts(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(path);
		const end = (answer: boolean) => {
			socket.destroy();
			resolve(answer);
		};
		socket.once("connect", () => end(true)).once("error", () => end(false));
	});
}
