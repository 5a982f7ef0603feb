/** A connection to the shim of one run: its identity and its requests. */

import { constants } from "node:os";
import type { AgentSignal, Deadline, KillResult, TerminalSize } from "../../ports/backend.js";
import { type Connection, openConnection } from "./connection.js";
import { describeEnded, describeTree } from "./describe-processes.js";
import { SHIM_PAYLOAD_MAX } from "./frames.js";
import { PayloadWriter } from "./payload.js";
import {
	ANSWERS,
	DEADLINE,
	INPUT,
	KILL,
	NOT_DONE,
	PASTE_BEGINS,
	PASTE_ENDS,
	RESIZE,
	readStatus,
	type ShimStatus,
	SIGNAL,
	STATUS,
	TO_WORKERS,
	TREE,
} from "./shim-messages.js";
import { readKilled } from "./starter-messages.js";

export interface ShimConnection {
	readonly connection: Connection;
	readonly status: ShimStatus;
}

const NOTHING = Buffer.alloc(0);
const INPUT_BYTES_MAX = 32 * 1024;
/** A stopped shim, or an overloaded host, must not delay process listings. */
const TREE_MS_MAX = 5_000;
const STATUS_MS_MAX = 10_000;
const KILL_MS_MAX = 10_000;

/**
 * Rejects with the system's error if no process listens there.
 *
 * The shim greets before it has read our greeting, and reports exits and queries only to connections whose greeting it
 * has read. What happens in between is only in a status that was requested afterwards.
 */
export async function openShim(path: string): Promise<ShimConnection> {
	const peer = { name: "shim", path, payloadMax: SHIM_PAYLOAD_MAX, answers: ANSWERS };
	const connection = await openConnection(peer);
	try {
		const answer = await connection.ask(STATUS, NOTHING, STATUS_MS_MAX).catch((error: unknown) => {
			// A shim that has just exited: its record shows the rest.
			if (connection.isClosed) return null;
			throw error;
		});
		return { connection, status: readStatus(answer?.payload ?? connection.hello) };
	} catch (error) {
		connection.close();
		throw error;
	}
}

/** The processes that got the signal. */
export async function signalWorkers(connection: Connection, signal: AgentSignal) {
	const number = constants.signals[signal];
	const asked = new PayloadWriter().u32(number).u8(TO_WORKERS).end();
	const { payload } = await connection.ask(SIGNAL, asked, TREE_MS_MAX);
	return payload.pids();
}

/** All live descendants of the shim. */
export async function listTree(connection: Connection): Promise<number[]> {
	const { payload } = await connection.ask(TREE, NOTHING, TREE_MS_MAX);
	return payload.pids();
}

/** Kills all processes of the run. */
export async function killThroughShim({ connection, status }: ShimConnection): Promise<KillResult> {
	// Inspected first: after its exit only the pid of a process is known.
	const known = await describeTree(await listTree(connection), status.shimPid);
	const asked = new PayloadWriter().u32(KILL_MS_MAX).end();
	const { payload } = await connection.ask(KILL, asked, KILL_MS_MAX + 2_000);
	const { proven, pids } = readKilled(payload);
	if (proven) return { ok: true, killed: await describeEnded(pids, known) };
	return { ok: false, reason: `still running after ${KILL_MS_MAX} ms: pid ${pids.join(", ")}` };
}

/** Resolves when all bytes are written to the terminal. Calls on one connection must be sequential. */
export async function typeBytes(
	connection: Connection,
	bytes: Uint8Array,
	{ isPaste = false } = {},
): Promise<void> {
	for (let from = 0; from < bytes.length || (isPaste && from === 0); from += INPUT_BYTES_MAX) {
		const piece = bytes.subarray(from, from + INPUT_BYTES_MAX);
		const begins = isPaste && from === 0 ? PASTE_BEGINS : 0;
		const ends = isPaste && from + INPUT_BYTES_MAX >= bytes.length ? PASTE_ENDS : 0;
		const asked = new PayloadWriter()
			.u8(begins | ends)
			.bytes(piece)
			.end();
		const { type, payload } = await connection.ask(INPUT, asked);
		if (type === NOT_DONE) throw new Error(payload.text());
	}
}

/** The version of the protocol with deadlines; a shim of an older one has none. */
const ENDS_IN_TIME = 4;

export function sendDeadline(connection: Connection, { atBootMs, graceMs }: Deadline): void {
	if (connection.version < ENDS_IN_TIME) return;
	connection.send(DEADLINE, new PayloadWriter().u64(atBootMs).u32(graceMs).end());
}

export function resizeTerminal(connection: Connection, { columns, rows }: TerminalSize): void {
	connection.send(RESIZE, new PayloadWriter().u16(columns).u16(rows).end());
}
