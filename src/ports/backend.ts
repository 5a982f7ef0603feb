/**
 * Runs the processes of session agents. A backend starts runs, reports their exits, and finds them
 * again after the daemon has died; it decides nothing. One conformance suite runs over all backends.
 *
 * A run is identified by its id alone: the id is recorded before the start, passed to the backend, and
 * carried by the process (`REEVE_RUN_ID`), so a run whose start was never confirmed can be found.
 */

/** Identifies a process, also after its pid was reused (S10). */
export interface ProcessIdentity {
	/** Changes with every boot of the host. */
	readonly bootId: string;
	readonly pid: number;
	/** When the process started, in the host's own units. */
	readonly startTime: string;
}

/** Resource limits of an agent; null for no limit. */
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

/**
 * When the owner of a run's processes ends them by itself, whether or not the daemon still runs: SIGTERM at this time of
 * the host's clock since boot, SIGKILL after the grace period.
 */
export interface Deadline {
	readonly atBootMs: number;
	readonly graceMs: number;
}

export interface StartRequest {
	readonly runId: string;
	/** `project:name`. */
	readonly agentId: string;
	/** The program and its arguments, without a shell. */
	readonly argv: readonly [string, ...string[]];
	readonly cwd: string;
	/** The complete environment of the agent. Never shown, logged or put into an argv. */
	readonly env: Readonly<Record<string, string>>;
	/** If false, it runs without a terminal, and its output goes directly to its log. */
	readonly terminal: boolean;
	readonly size: TerminalSize;
	/** The directory for this agent's logs, which contain all of its output, within bounds. */
	readonly logDir: string;
	readonly limits: ResourceLimits;
	/** How long the agent may take to exit when the host stops it instead of Reeve. */
	readonly stopTimeoutMs?: number;
	/** A start after it is refused. */
	readonly deadline?: Deadline;
}

/** Identifies a run for its backend. Plain data, stored as JSON. */
export interface RunHandle {
	readonly backend: string;
	readonly runId: string;
	readonly process: ProcessIdentity;
	/** Wall time. */
	readonly startedAtMs: number;
	/** Where its output begins in the log of its agent. Omitted where that is unknown. */
	readonly outputFrom?: number;
	/** Additional data of the backend, such as the name of its session. */
	readonly data: Readonly<Record<string, string | number>>;
}

/** Why a run could not be started. */
export interface StartFailure {
	/** A retry cannot succeed: a missing program or directory, no permission to execute. */
	readonly permanent: boolean;
	/** How to fix it, as text. */
	readonly detail: string;
}

export type StartResult =
	| { readonly ok: true; readonly handle: RunHandle }
	| { readonly ok: false; readonly failure: StartFailure };

/** The facts of a run's end, as observed by the process that owned it. */
export interface RunExit {
	readonly runId: string;
	readonly code: number | null;
	readonly signal: string | null;
	/** Wall time of the exit, correct even if no daemon was running. */
	readonly atMs: number;
	readonly outOfMemory: boolean;
	/** The owner of the process has proven that no process of the run is left. */
	readonly treeGone?: boolean;
	/** The owner of the process ended it at its deadline. */
	readonly atDeadline?: boolean;
	/** Why the backend itself stopped the run, which is then started again without being counted. */
	readonly replaced?: string;
}

/** The state of a run that was not watched for a while. */
export type Recovered =
	| { readonly state: "running"; readonly handle: RunHandle }
	| { readonly state: "exited"; readonly exit: RunExit }
	/** It never started, or it is gone and its exit is unknown. */
	| { readonly state: "gone"; readonly rebooted: boolean }
	/** The backend cannot determine it now. This must never be treated as stopped. */
	| { readonly state: "unknown"; readonly reason: string };

/** One live process of a run. */
export interface RunProcess {
	readonly pid: number;
	/** Distinguishes it from a later process with the same pid (S10). */
	readonly startTime: string;
	/** The name of its program, for reports. Never used to find a process. */
	readonly name: string;
}

/** A run whose processes are looked up, running or not. */
export interface RunReference {
	readonly runId: string;
	/** Null if the start was never confirmed. */
	readonly handle: RunHandle | null;
	/** The agent's own process exited a moment ago, so its process group and session are still its own. */
	readonly justExited?: boolean;
}

/** The live processes of a run: the agent, its child processes and those that outlived it. */
export type RunProcesses =
	| { readonly ok: true; readonly processes: readonly RunProcess[] }
	| { readonly ok: false; readonly reason: string };

export type KillResult =
	| { readonly ok: true; readonly killed: readonly RunProcess[] }
	/** Some process of the run is still alive, or cannot be proven gone. */
	| { readonly ok: false; readonly reason: string };

/** A viewer of a terminal, which may also type into it. */
export interface TerminalConnection {
	/** Input typed at the terminal. */
	write(bytes: Uint8Array): void;
	resize(size: TerminalSize): void;
	close(): void;
}

/** A terminal's screen as text, without colours. */
export interface ScreenText {
	readonly text: string;
	/**
	 * Whether output that belongs to it was lost (on a full disk) and the program has not drawn its screen again since.
	 * Then it proves nothing about the program.
	 */
	readonly isIncomplete: boolean;
}

export interface TerminalViewer {
	/**
	 * Whether it answers what the program asks its terminal, such as the position of the cursor. While no viewer does,
	 * the backend answers. A viewer without this never does.
	 */
	answers?(): boolean;
	/**
	 * The current screen, as bytes that draw it; may be sent again after the viewer fell behind. It is incomplete if the
	 * program printed more than is kept, or a part of the terminal's state could not be read.
	 */
	onSnapshot(bytes: Uint8Array, size: TerminalSize, isIncomplete?: boolean): void;
	onOutput(bytes: Uint8Array): void;
	/** The terminal is gone, or the connection to its owner. */
	onClose(reason: string): void;
}

/** Consecutive cells with the same style. A colour is a number of the palette (0 to 255) or `#rrggbb`. */
export interface StyledText {
	readonly text: string;
	readonly fg?: number | string;
	readonly bg?: number | string;
	readonly bold?: true;
	readonly dim?: true;
	readonly italic?: true;
	readonly underline?: true;
	readonly inverse?: true;
	readonly strikethrough?: true;
}

/** A screen with its styles. The text contains no control characters. */
export interface StyledScreen extends TerminalSize {
	/** One entry per row, without trailing blanks. */
	readonly lines: readonly (readonly StyledText[])[];
	/** From 0, at the top left. */
	readonly cursor: { readonly x: number; readonly y: number; readonly visible: boolean };
	/** The title that the program has set; empty if none. */
	readonly title: string;
	/** False if output was skipped or is no longer stored. */
	readonly complete: boolean;
}

/** A reader of a screen, which never changes its size and never types. */
export interface ScreenWatch {
	/** The screen after all output so far. */
	read(): Promise<StyledScreen>;
	close(): void;
}

export interface ScreenWatcher {
	/** The screen may have changed. Called for every piece of output. */
	onChange(): void;
	/** The terminal is gone, or the connection to its owner. */
	onClose(reason: string): void;
}

/** The signals that Reeve sends to agents. Defined here, so that users of these types do not need those of Node. */
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

/** Runs the processes of session agents. One conformance suite runs over every implementation. */
export interface Backend {
	readonly name: string;
	/** Starts a run. If a run with this id is alive, it starts nothing (S1). */
	start(request: StartRequest): Promise<StartResult>;
	/** Finds a run by its id, and by its handle if one was recorded. */
	recover(runId: string, handle: RunHandle | null): Promise<Recovered>;
	/** Calls back once for every run that ends from now on. */
	onExit(listener: (exit: RunExit) => void): void;
	/**
	 * Signals the agent's process group and the foreground group of its terminal, so that a signal also
	 * reaches a program that a shell or a script has started. Returns the signalled processes.
	 */
	signal(handle: RunHandle, signal: AgentSignal): Promise<readonly RunProcess[]>;
	/** Replaces the deadline of a run; a time of 0 removes it. One that waits for its delivery extends nothing. */
	setDeadline(handle: RunHandle, deadline: Deadline): void;
	/** Signals these processes of a run, each only if its pid still belongs to the same process (S10). */
	signalEach(
		run: RunReference,
		processes: readonly RunProcess[],
		signal: AgentSignal,
	): Promise<void>;
	/** Whether the agent's own process is alive. */
	isRunning(handle: RunHandle): Promise<boolean | "unknown">;
	/** The live processes of a run's process tree, also after the agent itself has exited. */
	processes(run: RunReference): Promise<RunProcesses>;
	/** Kills the whole process tree of a run and proves that it is gone (S11). */
	kill(run: RunReference): Promise<KillResult>;
	/** Types bytes unchanged. */
	input(handle: RunHandle, bytes: Uint8Array): Promise<void>;
	/**
	 * Sends a message like a terminal paste: with the markers of bracketed paste if the program has
	 * enabled them, otherwise as plain text.
	 */
	paste(handle: RunHandle, text: string): Promise<void>;
	screen(handle: RunHandle): Promise<ScreenText>;
	/** Terminals attached without the daemon, and when one last was (wall time). Missing where that is impossible. */
	viewers?(
		handle: RunHandle,
	): Promise<{ readonly count: number; readonly lastAtMs: number | null }>;
	/** Watches the screen with its styles. Rejects if the run has no terminal. */
	watchScreen(handle: RunHandle, watcher: ScreenWatcher): Promise<ScreenWatch>;
	attach(
		handle: RunHandle,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection>;
	/** Called when the exit of this run is stored, so the backend can delete its record. */
	forget(runId: string): Promise<void>;
	/** Releases the runs without stopping them. */
	close(): Promise<void>;
}
