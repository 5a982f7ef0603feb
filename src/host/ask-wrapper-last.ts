/**
 * A shell that leads a terminal's session and does not handle a signal exits when it gets one. The
 * kernel then sends SIGHUP to everything that the shell had started, which kills most programs before
 * they have cleaned up. So such a wrapper is signalled last, when the others have exited.
 */

import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessIdentity } from "../ports/backend.js";
import { isAlive, type ProcessEntry, readBootId } from "./process-identity.js";

const LOOK_MS_MIN = 10;
const LOOK_MS_MAX = 100;
/**
 * Longer than any practical drain. Processes that are alive by then are signalled and killed by the
 * drain.
 */
const WAIT_MS_MAX = 10 * 60 * 1_000;

/** The process to be signalled last; null if there is none. */
export function findWrapper(
	workers: readonly ProcessEntry[],
	root: ProcessIdentity,
	signal: NodeJS.Signals,
): ProcessEntry | null {
	const wrapper = workers.find(
		({ pid, startTime }) => pid === root.pid && startTime === root.startTime,
	);
	// SIGHUP already has the meaning of a hangup.
	if (wrapper === undefined || signal === "SIGHUP" || wrapper.sid !== wrapper.pid) return null;
	const hangsUpOn = workers.filter(
		({ pid, pgid }) => pid !== wrapper.pid && pgid === wrapper.foregroundPgid,
	);
	return hangsUpOn.length > 0 && hasDefaultAction(wrapper.pid, signal) ? wrapper : null;
}

/** Calls back when none of these is alive any more. */
export async function whenGone(
	processes: readonly ProcessEntry[],
	onGone: () => void,
): Promise<void> {
	const bootId = readBootId();
	const untilMs = performance.now() + WAIT_MS_MAX;
	for (let pauseMs = LOOK_MS_MIN; performance.now() < untilMs; pauseMs *= 2) {
		await sleep(Math.min(pauseMs, LOOK_MS_MAX), undefined, { ref: false });
		const isOver = processes.every(
			({ pid, startTime }) => isAlive({ bootId, pid, startTime }) === false,
		);
		if (isOver) return onGone();
	}
}

/** Whether the signal terminates the process by default. False if the system does not report it. */
function hasDefaultAction(pid: number, signal: NodeJS.Signals): boolean {
	try {
		const status = readFileSync(`/proc/${pid}/status`, "utf8");
		const bit = 1n << BigInt(constants.signals[signal] - 1);
		return ["SigIgn", "SigCgt", "SigBlk"].every((name) => {
			const mask = new RegExp(`^${name}:\\s*([0-9a-f]+)$`, "m").exec(status)?.[1];
			return mask !== undefined && (BigInt(`0x${mask}`) & bit) === 0n;
		});
	} catch {
		return false;
	}
}
