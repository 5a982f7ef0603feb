/**
 * What holds the processes of session agents. A backend starts runs, reports how they end, and finds
 * them again after the daemon has died; it decides nothing. One conformance suite runs over all.
 *
 * A run is known by its id alone: the id is recorded before the start, handed to the backend, and
 * carried by the process (`REEVE_RUN_ID`), so a run whose start was never confirmed can be found.
 */

/** Which process this is, told apart from a later one with the same number (S10). */
export interface ProcessIdentity {
	/** Changes with every boot of the host. */
	readonly bootId: string;
	readonly pid: number;
	/** When the process started, in the host's own units. */
	readonly startTime: string;
}

/** What an agent may use; null where there is no limit. */
export interface ResourceLimits {
	readonly memoryBytes: number | null;
	/** 100 is one CPU. */
	readonly cpuPercent: number | null;
	readonly pids: number | null;
}

export interface TerminalSize {
	readonly columns: number;
	readonly rows: number;
}

export interface StartRequest {
	readonly runId: string;
	/** `project:name`. */
	readonly agentId: string;
	/** The program and its arguments. No shell reads them. */
	readonly argv: readonly [string, ...string[]];
	readonly cwd: string;
	/** The whole environment of the agent, to the letter. Never shown, logged or put into an argv. */
	readonly env: Readonly<Record<string, string>>;
	/** False runs it without a terminal, its output going straight to its log. */
	readonly terminal: boolean;
	readonly size: TerminalSize;
	/** The folder for this agent's logs; everything it prints is kept there, within bounds. */
	readonly logDir: string;
	readonly limits: ResourceLimits;
	/** How long the agent may take to end when it is not Reeve but the host that stops it. */
	readonly stopTimeoutMs?: number;
}

/** How to find a run again: plain data, stored as JSON, understood by the backend that made it. */
export interface RunHandle {
	readonly backend: string;
	readonly runId: string;
	readonly process: ProcessIdentity;
	/** Wall time. */
	readonly startedAtMs: number;
	/** Whatever else the backend needs, such as the name of its session. */
	readonly data: Readonly<Record<string, string | number>>;
}

/** Why a run could not be started. */
export interface StartFailure {
	/** Trying again cannot help: a missing program or folder, no right to execute. */
	readonly permanent: boolean;
	/** What to fix, in words. */
	readonly detail: string;
}

export type StartResult =
	| { readonly ok: true; readonly handle: RunHandle }
	| { readonly ok: false; readonly failure: StartFailure };

/** The facts of a run's end, as whoever held the process saw them. */
export interface RunExit {
	readonly runId: string;
	readonly code: number | null;
	readonly signal: string | null;
	/** Wall time of the end, true even when nobody was watching. */
	readonly atMs: number;
	readonly outOfMemory: boolean;
	/** The holder of the process has proven that nothing of the run's process tree is left. */
	readonly treeGone?: boolean;
	/** Why the backend itself ended the run, which is then started again and counts for nothing. */
	readonly replaced?: string;
}

/** What became of a run while nobody was watching. */
export type Recovered =
	| { readonly state: "running"; readonly handle: RunHandle }
	| { readonly state: "exited"; readonly exit: RunExit }
	/** It never started, or it is gone and nobody knows how. */
	| { readonly state: "gone"; readonly rebooted: boolean }
	/** The backend cannot tell now; never taken for stopped. */
	| { readonly state: "unknown"; readonly reason: string };

/** One live process of a run. */
export interface RunProcess {
	readonly pid: number;
	/** Tells it from a later process with the same pid (S10). */
	readonly startTime: string;
	/** The name of its program, for reports. Never used to find a process. */
	readonly name: string;
}

/** A run whose processes are looked for, alive or over. */
export interface RunReference {
	readonly runId: string;
	/** Null when the start was never confirmed. */
	readonly handle: RunHandle | null;
	/** The agent's own process exited a moment ago, so its process group and session are still its own. */
	readonly justExited?: boolean;
}

/** The live processes of a run: the agent, what it has started and what outlived it. */
export type RunProcesses =
	| { readonly ok: true; readonly processes: readonly RunProcess[] }
	| { readonly ok: false; readonly reason: string };

export type KillResult =
	| { readonly ok: true; readonly killed: readonly RunProcess[] }
	/** Something of the run's process tree is still there, or it cannot be proven gone. */
	| { readonly ok: false; readonly reason: string };

/** Somebody who watches a terminal, and may type into it. */
export interface TerminalConnection {
	/** Bytes typed at the terminal. */
	write(bytes: Uint8Array): void;
	resize(size: TerminalSize): void;
	close(): void;
}

export interface TerminalViewer {
	/**
	 * The screen as it is now, as bytes that draw it; may come again after the viewer fell behind. It is incomplete when the
	 * program printed more than is kept, or something of the terminal's state could not be read.
	 */
	onSnapshot(bytes: Uint8Array, size: TerminalSize, isIncomplete?: boolean): void;
	onOutput(bytes: Uint8Array): void;
	/** The terminal is gone, or the connection to whoever holds it. */
	onClose(reason: string): void;
}

/** The signals that agents are sent. Named here, so that users of the types need none of Node's. */
export type AgentSignal =
	| "SIGHUP"
	| "SIGINT"
	| "SIGQUIT"
	| "SIGTERM"
	| "SIGKILL"
	| "SIGUSR1"
	| "SIGUSR2"
	| "SIGSTOP"
	| "SIGCONT"
	| "SIGWINCH";

/** What holds the processes of session agents. One conformance suite runs over every implementation. */
export interface Backend {
	readonly name: string;
	/** Starts a run. Called again with the id of a run that is alive, it starts nothing (S1). */
	start(request: StartRequest): Promise<StartResult>;
	/** Finds a run by its id, and by its handle where one was recorded. */
	recover(runId: string, handle: RunHandle | null): Promise<Recovered>;
	/** Calls back once for every run that ends from now on. */
	onExit(listener: (exit: RunExit) => void): void;
	/**
	 * Signals the programs that do the work: the agent's process group and the foreground group of its
	 * terminal, so that a signal also reaches a program that a shell or a script has started. Returns the
	 * processes that it reached.
	 */
	signal(handle: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]>;
	/** Signals these processes of a run, each if its pid still stands for the same process (S10). */
	signalEach(
		run: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void>;
	/** Whether the agent's own process is alive. */
	isRunning(handle: RunHandle): Promise<boolean | "unknown">;
	/** What is alive of a run's process tree, also after the agent itself has exited. */
	processes(run: RunReference): Promise<RunProcesses>;
	/** Kills the whole process tree of a run and proves that it is gone (S11). */
	kill(run: RunReference): Promise<KillResult>;
	/** Types bytes exactly as they are. */
	input(handle: RunHandle, bytes: Uint8Array): Promise<void>;
	/**
	 * Types a text as a terminal pastes it: between the markers of bracketed paste where the program has asked for
	 * them, and as plain text where it has not.
	 */
	paste(handle: RunHandle, text: string): Promise<void>;
	/** The screen as text, without colours. */
	screen(handle: RunHandle): Promise<string>;
	attach(
		handle: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection>;
	/** The exit of this run is stored, so its record need not be kept any longer. */
	forget(runId: string): Promise<void>;
	/** Lets go of the runs without ending them. */
	close(): Promise<void>;
}
