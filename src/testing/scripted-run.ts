/** The runs of the scripted backend: their scripts, and the state that outlives each of its clients. */

import type {
	Deadline,
	RunExit,
	RunHandle,
	RunProcess,
	StartFailure,
	StartRequest,
	TerminalSize,
	TerminalViewer,
} from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";

/** The script of one run. */
export interface ScriptedLife {
	/** How long it runs before it exits by itself; null for no limit. */
	readonly livesMs: number | null;
	/** How it exits by itself. */
	readonly code: number | null;
	readonly signal: string | null;
	readonly outOfMemory: boolean;
	/** Only SIGKILL and `kill` terminate it. */
	readonly ignoresSignals: boolean;
	/** Its start fails with this reason. */
	readonly startFailure: StartFailure | null;
	/** Limits that its backend cannot enforce, as text; empty if there are none. */
	readonly missingLimits: string;
	/** `kill` fails with this reason. */
	readonly unkillable: string | null;
	/** Processes that outlive it, each named by how long it takes to exit after SIGTERM; null never does. */
	readonly leaves: readonly (number | null)[];
	/** Whether its program has enabled bracketed paste. */
	readonly marksPastes: boolean;
}

/** Runs until it is asked to exit, and then exits. */
export const ENDLESS: ScriptedLife = {
	livesMs: null,
	code: 0,
	signal: null,
	outOfMemory: false,
	ignoresSignals: false,
	startFailure: null,
	missingLimits: "",
	unkillable: null,
	leaves: [],
	marksPastes: true,
};

export interface ScriptedRun {
	readonly handle: RunHandle;
	readonly life: ScriptedLife;
	readonly viewers: Set<TerminalViewer>;
	readonly typed: Uint8Array[];
	readonly sizes: string[];
	deadline: Deadline | null;
	printed: string;
	size: TerminalSize;
	exit: RunExit | null;
	callOff: () => void;
	/** Processes that outlived it and are still alive. */
	readonly left: Map<number, ScriptedLeftover>;
}

interface ScriptedLeftover {
	readonly process: RunProcess;
	/** After SIGTERM; null never exits. */
	readonly exitsAfterMs: number | null;
}

/** State that outlives a client. */
export interface ScriptedHost {
	readonly clock: Clock;
	readonly scripts: Map<string, ScriptedLife[]>;
	readonly runs: Map<string, ScriptedRun>;
	readonly started: StartRequest[];
	/** Each exit is reported to all of them. */
	readonly clients: Set<{ reportExit(exit: RunExit): void }>;
	unknownReason: string | null;
	lookFailure: string | null;
	/** Runs from before a reboot. */
	readonly lost: Set<string>;
}

export function endRun(
	host: ScriptedHost,
	run: ScriptedRun,
	how: Omit<RunExit, "runId" | "atMs">,
): void {
	if (run.exit !== null) return;
	run.callOff();
	run.exit = { runId: run.handle.runId, atMs: host.clock.now().wallMs, ...how };
	for (const [index, exitsAfterMs] of run.life.leaves.entries()) {
		const pid = run.handle.process.pid * 100 + index;
		const process = { pid, startTime: run.handle.process.startTime, name: "leftover" };
		run.left.set(pid, { process, exitsAfterMs });
	}
	for (const viewer of run.viewers) viewer.onClose("the agent has ended");
	run.viewers.clear();
	for (const client of host.clients) client.reportExit(run.exit);
}

export const ownProcess = ({ handle: { process } }: ScriptedRun): RunProcess => ({
	pid: process.pid,
	startTime: process.startTime,
	name: "agent",
});

export function liveProcesses(run: ScriptedRun): readonly RunProcess[] {
	const left = [...run.left.values()].map(({ process }) => process);
	return run.exit === null ? [ownProcess(run)] : left;
}

/** The script of an agent's next run. */
export function nextLife({ scripts }: ScriptedHost, agentId: string): ScriptedLife {
	const lives = scripts.get(agentId) ?? [];
	return (lives.length > 1 ? lives.shift() : lives[0]) ?? ENDLESS;
}
