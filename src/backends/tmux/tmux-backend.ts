/**
 * Agents that are shown in sessions of a tmux server. A layer: another backend holds the runs, outside of tmux, and this
 * one keeps a session open for each, in which a small program shows the run's terminal. tmux can be killed at any time:
 * the agents keep running, and their sessions are opened again.
 */

import { createHash } from "node:crypto";
import type { Argv } from "../../host/cgroup.js";
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
import { TmuxServer } from "./tmux-server.js";

export interface TmuxBackendOptions {
	/** A folder of the backend's own, private to the user: the server's socket and configuration. */
	readonly folder: string;
	/** The backend that holds the runs. */
	readonly inner: Backend;
	/** The program that shows a run in a terminal; null where the run cannot be shown. */
	readonly show: (handle: RunHandle) => { readonly argv: Argv; readonly agentId: string } | null;
	/** Starts the server outside of this process's own unit. */
	readonly enclose?: (argv: Argv) => Argv;
	/** The session of a run was gone and is open again. */
	readonly onReopened?: (run: { readonly runId: string; readonly agentId: string }) => void;
	/** How often the sessions are looked at. */
	readonly pollMs?: number;
}

export function createTmuxBackend(options: TmuxBackendOptions): Backend {
	return new SessionBackend(options);
}

interface Shown {
	readonly handle: RunHandle;
	size: TerminalSize;
	/** Opened by this daemon or found open. */
	wasOpen: boolean;
	isOpening: boolean;
	/** How often its session was opened, since it last stayed open for a while. */
	opened: number;
	openedAtMs: number;
}

const POLL_MS = 2_000;
/** A session that lasts this long resets the delay before the next one. */
const LASTED_MS = 60_000;
const PAUSE_MS_MAX = 5 * 60_000;
const SIZE: TerminalSize = { columns: 200, rows: 50 };

/** tmux gives `.` and `:` in names a meaning, so names are generated. */
const sessionOf = (runId: string) =>
	`r-${createHash("sha256").update(runId).digest("hex").slice(0, 16)}`;

class SessionBackend implements Backend {
	readonly name: string;
	readonly #options: TmuxBackendOptions;
	readonly #inner: Backend;
	readonly #server: TmuxServer;
	readonly #shown = new Map<string, Shown>();
	/** One session is opened after the other. */
	#opening: Promise<void> = Promise.resolve();
	#timer: NodeJS.Timeout | null = null;
	#isClosed = false;

	constructor(options: TmuxBackendOptions) {
		this.#options = options;
		this.#inner = options.inner;
		this.name = options.inner.name;
		this.#server = new TmuxServer(options.folder, options.enclose ?? null);
	}

	async start(request: StartRequest): Promise<StartResult> {
		const started = await this.#inner.start(request);
		if (!started.ok) return started;
		const { terminal, size } = request;
		const handle = withSession(started.handle, terminal);
		if (terminal) this.#keep(handle, size);
		return { ok: true, handle };
	}

	async recover(runId: string, handle: RunHandle | null): Promise<Recovered> {
		const found = await this.#inner.recover(runId, handle);
		if (found.state !== "running") return found;
		const hasTerminal = handle?.data["terminal"] !== 0;
		const outer = withSession(found.handle, hasTerminal);
		if (hasTerminal) this.#keep(outer, SIZE);
		return { state: "running", handle: outer };
	}

	onExit(listener: (exit: RunExit) => void): void {
		this.#inner.onExit((exit) => {
			this.#shown.delete(exit.runId);
			listener(exit);
		});
	}

	signal(handle: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]> {
		return this.#inner.signal(handle, signal);
	}

	setDeadline(handle: RunHandle, deadline: Deadline): void {
		this.#inner.setDeadline(handle, deadline);
	}

	signalEach(
		run: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void> {
		return this.#inner.signalEach(run, processes, signal);
	}

	isRunning(handle: RunHandle): Promise<boolean | "unknown"> {
		return this.#inner.isRunning(handle);
	}

	processes(run: RunReference): Promise<RunProcesses> {
		return this.#inner.processes(run);
	}

	kill(run: RunReference): Promise<KillResult> {
		return this.#inner.kill(run);
	}

	input(handle: RunHandle, bytes: Uint8Array): Promise<void> {
		return this.#inner.input(handle, bytes);
	}

	paste(handle: RunHandle, text: string): Promise<void> {
		return this.#inner.paste(handle, text);
	}

	screen(handle: RunHandle): Promise<ScreenText> {
		return this.#inner.screen(handle);
	}

	watchScreen(handle: RunHandle, watcher: ScreenWatcher): Promise<ScreenWatch> {
		return this.#inner.watchScreen(handle, watcher);
	}

	/** The size is that of the tmux window, from which the program in it takes it over. */
	async attach(
		handle: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		const connection = await this.#inner.attach(handle, viewer, null);
		const resize = (to: TerminalSize) => {
			const shown = this.#shown.get(handle.runId);
			if (shown !== undefined) shown.size = to;
			this.#server.resize(sessionOf(handle.runId), to).catch(() => connection.resize(to));
		};
		if (size !== null) resize(size);
		return { write: connection.write, resize, close: connection.close };
	}

	viewers(handle: RunHandle) {
		return this.#server.viewers(sessionOf(handle.runId));
	}

	async forget(runId: string): Promise<void> {
		this.#shown.delete(runId);
		await this.#inner.forget(runId);
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		if (this.#timer !== null) clearInterval(this.#timer);
		await this.#inner.close();
		await this.#opening;
		await this.#server.close();
	}

	#keep(handle: RunHandle, size: TerminalSize): void {
		const { runId } = handle;
		if (this.#shown.has(runId) || this.#options.show(handle) === null) return;
		this.#shown.set(runId, {
			handle,
			size,
			wasOpen: false,
			isOpening: false,
			opened: 0,
			openedAtMs: Number.NEGATIVE_INFINITY,
		});
		this.#timer ??= setInterval(
			() => void this.#reopenMissing(),
			this.#options.pollMs ?? POLL_MS,
		).unref();
		void this.#reopenMissing();
	}

	/** Opens the sessions that are missing. */
	async #reopenMissing(): Promise<void> {
		const runs = [...this.#shown].filter(([, { isOpening }]) => !isOpening);
		if (runs.length === 0 || this.#isClosed) return;
		let open: ReadonlySet<string>;
		try {
			open = await this.#server.sessions();
		} catch {
			// tmux does not answer now; the next check asks again.
			return;
		}
		for (const [runId, shown] of runs) {
			if (shown.isOpening || this.#shown.get(runId) !== shown) continue;
			if (open.has(sessionOf(runId))) shown.wasOpen = true;
			else this.#open(runId, shown);
		}
	}

	#open(runId: string, shown: Shown): void {
		const lastedMs = performance.now() - shown.openedAtMs;
		if (lastedMs > LASTED_MS) shown.opened = Math.min(shown.opened, 1);
		const pauseMs = Math.min(PAUSE_MS_MAX, POLL_MS * 2 ** (shown.opened - 1));
		// The first time that it is gone, it is opened again at once.
		if (shown.opened > 1 && lastedMs < pauseMs) return;
		shown.isOpening = true;
		shown.opened++;
		this.#opening = this.#opening.then(async () => {
			try {
				await this.#openNow(runId, shown);
			} catch {
				// The next check tries again, later each time.
			} finally {
				shown.openedAtMs = performance.now();
				shown.isOpening = false;
			}
		});
	}

	async #openNow(runId: string, shown: Shown): Promise<void> {
		const command = this.#options.show(shown.handle);
		if (command === null || this.#isClosed || this.#shown.get(runId) !== shown) return;
		if ((await this.#inner.isRunning(shown.handle)) !== true) return;
		const { argv, agentId } = command;
		const name = sessionOf(runId);
		const { size } = shown;
		const tags = {
			"@reeve": "1",
			"@reeve-project": nameIn(agentId.split(":")[0] ?? ""),
			"@reeve-agent": nameIn(agentId),
			"@reeve-run": runId,
			"@reeve-root": this.#options.folder,
		};
		await this.#server.open({ name, size, argv, tags });
		// A viewer has set another one meanwhile.
		if (shown.size !== size) await this.#server.resize(name, shown.size);
		if (shown.wasOpen) this.#options.onReopened?.({ runId, agentId });
		shown.wasOpen = true;
	}
}

const nameIn = (id: string) => id.replaceAll(/[^\w:.-]/g, "_");

const withSession = (handle: RunHandle, terminal: boolean): RunHandle => ({
	...handle,
	data: { ...handle.data, session: sessionOf(handle.runId), terminal: terminal ? 1 : 0 },
});
