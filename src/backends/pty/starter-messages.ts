/** Messages between the daemon and the starter, and the specification of a run. */

import type { Deadline, TerminalSize } from "../../ports/backend.js";
import { type PayloadReader, PayloadWriter } from "./payload.js";

export const START = 16;
export const STARTED = 17;
export const FAILED = 18;
export const STRANGERS = 20;
export const STRANGER_LIST = 21;
export const KILL_STRANGERS = 22;
export const STRANGERS_KILLED = 23;

/** The steps of a start that fail for their own reasons. */
export const FAILED_LOCK = 3;
export const FAILED_GROUP = 9;
export const FAILED_SHIM = 11;
export const STEP_NAMES: Readonly<Record<number, string>> = {
	1: "reading the specification",
	2: "opening the run's directory",
	3: "locking the run's directory, which another process has locked",
	4: "reserving the exit record",
	5: "opening the run's socket",
	6: "opening a terminal",
	7: "creating a process",
	8: "entering the working directory",
	9: "joining the control group",
	10: "executing the program",
	11: "the process that owns the run died",
};

export interface RunSpec {
	readonly runId: string;
	readonly agentId: string;
	readonly runDir: string;
	readonly socket: string;
	readonly logDir: string;
	readonly logBytes: number;
	readonly logFiles: number;
	readonly cwd: string;
	readonly argv: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly groups: readonly string[];
	readonly terminal: boolean;
	readonly size: TerminalSize;
	readonly bootId: string;
	/** The command line that runs the shim, such as one that makes a unit around it; empty where the starter does. */
	readonly enclosure: readonly string[];
	readonly deadline: Deadline | null;
}

/** Room for the specification of most agents. */
const SPEC_BYTES = 4_096;

/** Tags of the specification, as in PROTOCOL.md. */
export function encodeSpec(spec: RunSpec): Buffer {
	const out = new PayloadWriter(SPEC_BYTES);
	const put = (tag: number, value: string) => out.u16(tag).longText(value);
	put(1, spec.runId);
	put(2, spec.runDir);
	put(3, spec.socket);
	put(4, spec.logDir);
	out.u16(5).u32(8).u64(spec.logBytes);
	out.u16(6).u32(4).u32(spec.logFiles);
	put(7, spec.cwd);
	for (const argument of spec.argv) put(8, argument);
	for (const [name, value] of Object.entries(spec.env)) put(9, `${name}=${value}`);
	for (const group of spec.groups) put(10, group);
	out
		.u16(11)
		.u32(1)
		.u8(spec.terminal ? 1 : 0);
	out.u16(12).u32(4).u16(spec.size.columns).u16(spec.size.rows);
	put(13, spec.bootId);
	for (const argument of spec.enclosure) put(14, argument);
	put(15, spec.agentId);
	if (spec.deadline !== null) {
		out.u16(16).u32(8).u64(spec.deadline.atBootMs);
		out.u16(17).u32(4).u32(spec.deadline.graceMs);
	}
	return out.end();
}

export interface Started {
	readonly shimPid: number;
	readonly agentPid: number;
	readonly agentStart: string;
	readonly shimStart: string;
	readonly logOffset: number;
}

/** Of a frame whose id was already read. */
export function readStarted(payload: PayloadReader): Started {
	const [shimPid, agentPid] = [payload.u32(), payload.u32()];
	const [agentStart, shimStart] = [payload.u64Text(), payload.u64Text()];
	return { shimPid, agentPid, agentStart, shimStart, logOffset: payload.u64() };
}

export interface StartFailed {
	readonly step: number;
	readonly errno: number;
	readonly detail: string;
}

export function readFailed(payload: PayloadReader): StartFailed {
	return { step: payload.u8(), errno: payload.u32(), detail: payload.text() };
}

export interface Killed {
	readonly proven: boolean;
	readonly pids: readonly number[];
}

export function readKilled(payload: PayloadReader): Killed {
	return { proven: payload.u8() === 1, pids: payload.pids() };
}
