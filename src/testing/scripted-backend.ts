/**
 * A backend without processes, for tests. Each run follows a script: how long it runs, how it exits,
 * how it handles signals. It uses a `Clock`, so that a test with a manual clock never waits.
 *
 * It has the guarantees of every backend: one id starts once, each exit is reported once, and exits
 * that a client missed are found by the next one.
 */

import { markPaste } from "../core/inbox.js";
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
} from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import {
	ENDLESS,
	endRun,
	liveProcesses,
	nextLife,
	ownProcess,
	type ScriptedHost,
	type ScriptedLife,
	type ScriptedRun,
} from "./scripted-run.js";

/** A backend in memory whose agents follow a script. */
export interface ScriptedBackend extends Backend {
	/** The scripts of an agent's next runs, one after the other; the last one repeats. */
	script(agentId: string, ...lives: readonly Partial<ScriptedLife>[]): void;
	/** While there is a reason, lookups of runs return "unknown". */
	setUnknown(reason: string | null): void;
	/** Makes lookups of a run fail with this message; null stops that. */
	failLookups(message: string | null): void;
	/** Simulates a reboot: no process of any run is left, and no exit was reported. */
	reboot(): void;
	/** Another client of the same runs, like the next daemon. */
	reconnect(): ScriptedBackend;
	/** Every start that led to a run, in order. */
	readonly started: readonly StartRequest[];
	/** The newest deadline of a run; null without one. */
	deadline(runId: string): Deadline | null;
	/** The input that was typed into a run. */
	typed(runId: string): Uint8Array;
	/** The sizes that viewers gave to a run's terminal, as `100x30`. */
	sizes(runId: string): readonly string[];
	/** Makes a run print output. */
	print(runId: string, text: string): void;
	/** Replaces the screen of a run. */
	show(runId: string, text: string): void;
}

/** Creates a backend in memory whose agents follow a script. */
export function createScriptedBackend({ clock }: { readonly clock: Clock }): ScriptedBackend {
	return new Client({
		clock,
		scripts: new Map(),
		runs: new Map(),
		started: [],
		clients: new Set(),
		lost: new Set(),
		unknownReason: null,
		lookFailure: null,
	});
}

class Client implements ScriptedBackend {
	readonly name = "scripted";
	readonly #host: ScriptedHost;
	readonly #watched = new Set<string>();
	readonly #listeners: ((exit: RunExit) => void)[] = [];

	constructor(host: ScriptedHost) {
		this.#host = host;
		host.clients.add(this);
	}

	get started(): readonly StartRequest[] {
		return this.#host.started;
	}

	script(agentId: string, ...lives: readonly Partial<ScriptedLife>[]): void {
		this.#host.scripts.set(
			agentId,
			lives.map((life) => ({ ...ENDLESS, ...life })),
		);
	}

	setUnknown(reason: string | null): void {
		this.#host.unknownReason = reason;
	}

	failLookups(message: string | null): void {
		this.#host.lookFailure = message;
	}

	reboot(): void {
		for (const [runId, run] of this.#host.runs) {
			run.callOff();
			this.#host.lost.add(runId);
		}
		this.#host.runs.clear();
	}

	reconnect(): ScriptedBackend {
		return new Client(this.#host);
	}

	deadline(runId: string): Deadline | null {
		return this.#host.runs.get(runId)?.deadline ?? null;
	}

	typed(runId: string): Uint8Array {
		return Buffer.concat(this.#host.runs.get(runId)?.typed ?? []);
	}

	sizes(runId: string): readonly string[] {
		return this.#host.runs.get(runId)?.sizes ?? [];
	}

	print(runId: string, text: string): void {
		const run = this.#runOf(runId);
		run.printed += text;
		for (const viewer of run.viewers) viewer.onOutput(Buffer.from(text));
	}

	show(runId: string, text: string): void {
		this.#runOf(runId).printed = text;
	}

	async start(request: StartRequest): Promise<StartResult> {
		const known = this.#host.runs.get(request.runId);
		if (known !== undefined) return { ok: true, handle: known.handle };
		const life = nextLife(this.#host, request.agentId);
		if (life.startFailure !== null) return { ok: false, failure: life.startFailure };
		const { clock, runs, started } = this.#host;
		started.push(request);
		const handle: RunHandle = {
			backend: this.name,
			runId: request.runId,
			process: {
				bootId: "scripted",
				pid: 1_000 + started.length,
				startTime: String(started.length),
			},
			startedAtMs: clock.now().wallMs,
			data: life.missingLimits === "" ? {} : { missingLimits: life.missingLimits },
		};
		const run: ScriptedRun = {
			handle,
			life,
			viewers: new Set(),
			typed: [],
			sizes: [],
			deadline: request.deadline ?? null,
			printed: "",
			size: request.size,
			exit: null,
			callOff: () => {},
			left: new Map(),
		};
		runs.set(request.runId, run);
		this.#watched.add(request.runId);
		const { code, signal, outOfMemory, livesMs } = life;
		if (livesMs !== null) {
			run.callOff = clock.schedule(livesMs, () => {
				endRun(this.#host, run, { code, signal, outOfMemory });
			});
		}
		return { ok: true, handle };
	}

	async recover(runId: string): Promise<Recovered> {
		const { unknownReason, lookFailure, runs, lost } = this.#host;
		if (lookFailure !== null) throw new Error(lookFailure);
		if (unknownReason !== null) return { state: "unknown", reason: unknownReason };
		const run = runs.get(runId);
		if (run === undefined) return { state: "gone", rebooted: lost.has(runId) };
		if (run.exit !== null) return { state: "exited", exit: run.exit };
		this.#watched.add(runId);
		return { state: "running", handle: run.handle };
	}

	onExit(listener: (exit: RunExit) => void): void {
		this.#listeners.push(listener);
	}

	/** Called by the host for every run that ends. */
	reportExit(exit: RunExit): void {
		if (!this.#watched.delete(exit.runId)) return;
		for (const listener of this.#listeners) listener(exit);
	}

	async signal({ runId }: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]> {
		const run = this.#host.runs.get(runId);
		if (run?.exit !== null) return [];
		if (!run.life.ignoresSignals || signal === "SIGKILL") {
			endRun(this.#host, run, { code: null, signal, outOfMemory: false });
		}
		return [ownProcess(run)];
	}

	setDeadline({ runId }: RunHandle, deadline: Deadline): void {
		const run = this.#host.runs.get(runId);
		if (run !== undefined) run.deadline = deadline;
	}

	async signalEach(
		{ runId }: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void> {
		const run = this.#host.runs.get(runId);
		for (const { pid } of processes) {
			const left = run?.left.get(pid);
			if (pid === run?.handle.process.pid) await this.signal(run.handle, signal);
			if (left === undefined) continue;
			const afterMs = signal === "SIGKILL" ? 0 : left.exitsAfterMs;
			if (afterMs !== null) this.#host.clock.schedule(afterMs, () => run?.left.delete(pid));
		}
	}

	async isRunning({ runId }: RunHandle): Promise<boolean | "unknown"> {
		if (this.#host.unknownReason !== null) return "unknown";
		return this.#host.runs.get(runId)?.exit === null;
	}

	async processes({ runId }: RunReference): Promise<RunProcesses> {
		const { unknownReason, runs } = this.#host;
		if (unknownReason !== null) return { ok: false, reason: unknownReason };
		const run = runs.get(runId);
		return { ok: true, processes: run === undefined ? [] : liveProcesses(run) };
	}

	async kill({ runId }: RunReference): Promise<KillResult> {
		const run = this.#host.runs.get(runId);
		if (run === undefined) return { ok: true, killed: [] };
		const killed = liveProcesses(run);
		if (killed.length > 0 && run.life.unkillable !== null) {
			return { ok: false, reason: run.life.unkillable };
		}
		endRun(this.#host, run, { code: null, signal: "SIGKILL", outOfMemory: false });
		run.left.clear();
		return { ok: true, killed };
	}

	async input({ runId }: RunHandle, bytes: Uint8Array): Promise<void> {
		this.#runOf(runId).typed.push(bytes.slice());
	}

	async paste({ runId }: RunHandle, text: string): Promise<void> {
		const run = this.#runOf(runId);
		run.typed.push(Buffer.from(run.life.marksPastes ? markPaste(text) : text));
	}

	async screen({ runId }: RunHandle): Promise<ScreenText> {
		return { text: this.#runOf(runId).printed.trimEnd(), isIncomplete: false };
	}

	async watchScreen({ runId }: RunHandle, watcher: ScreenWatcher): Promise<ScreenWatch> {
		const run = this.#runOf(runId);
		const onChange = () => watcher.onChange();
		const onClose = (reason: string) => watcher.onClose(reason);
		const viewer = { onSnapshot: onChange, onOutput: onChange, onClose };
		run.viewers.add(viewer);
		return {
			read: async () => {
				const lines = run.printed.trimEnd().split("\n").slice(-run.size.rows);
				return {
					...run.size,
					lines: lines.map((text) => (text === "" ? [] : [{ text }])),
					cursor: { x: 0, y: 0, visible: true },
					title: "",
					complete: true,
				};
			},
			close: () => void run.viewers.delete(viewer),
		};
	}

	async attach(
		{ runId }: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		const run = this.#runOf(runId);
		const resize = (to: TerminalSize) => {
			run.size = to;
			run.sizes.push(`${to.columns}x${to.rows}`);
		};
		if (size !== null) resize(size);
		run.viewers.add(viewer);
		viewer.onSnapshot(Buffer.from(run.printed), run.size);
		return {
			write: (bytes) => void run.typed.push(bytes.slice()),
			resize,
			close: () => run.viewers.delete(viewer),
		};
	}

	async forget(): Promise<void> {}

	async close(): Promise<void> {
		this.#host.clients.delete(this);
	}

	/** Typing into an ended run is an error, as with a real one. */
	#runOf(runId: string): ScriptedRun {
		const run = this.#host.runs.get(runId);
		if (run?.exit !== null) throw new Error(`run ${runId} has no terminal`);
		return run;
	}
}
