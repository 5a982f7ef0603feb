/** The state of the agent of a schedule: why its action is not possible now, and what an earlier slot still does. */

import type { ScheduleSpec } from "../../config/spec.js";
import type { Leases } from "../../ports/leases.js";
import type { StoredSlot } from "../../ports/schedule-store.js";
import type { FinishedTurns } from "../attending/finished-turns.js";
import { isForbiddenHere, placementOf } from "../placement.js";
import { hasCompleted, type KnownAgents } from "../runs/agent-state.js";
import { agentOf, idOf, type SlotBook } from "./slot-book.js";

/** Why its action is not possible now, as text; null if it is. Whether an agent accepts requests is decided when one is made. */
export function targetBlockReason(
	{ agents, leases }: { readonly agents: KnownAgents; readonly leases: Leases },
	spec: ScheduleSpec,
): string | null {
	const id = agentOf(spec);
	if (id === null) return null;
	const snapshot = agents.get(id)?.snapshot();
	if (snapshot === undefined) return `${id} does not exist`;
	const { desired, crash, waiting, reason, spec: target } = snapshot.agent;
	if (target.kind === "call") return null;
	if (crash.policy === "halted") return `${id} is halted: ${reason}`;
	if (waiting) return `${id} waits for the operator: ${reason}`;
	// The host that runs it has the schedule too.
	if (desired === "up" && isForbiddenHere(leases, target)) {
		return `${id} ${placementOf(leases, target)?.reason}`;
	}
	if (desired === "up") return null;
	if (!hasCompleted(snapshot)) return `${id} is down: ${reason}`;
	return spec.action.type === "restart" ? null : `${id} has completed`;
}

/** The work of an earlier slot of the schedule that is still running, as text; null if there is none. */
export function runningWork(
	book: SlotBook,
	agents: KnownAgents,
	finished: FinishedTurns,
	schedule: string,
): string | null {
	const running = book.open(schedule, "fired").at(-1);
	if (running !== undefined) return `${timeOf(running)} is still running: ${workOf(running)}`;
	const delivered = book.delivered(schedule);
	if (delivered?.started?.type !== "message" || delivered.endedAtMs === null) return null;
	const { agent } = delivered.started;
	const activity = agents.get(agent)?.snapshot().known?.activity;
	if (activity !== "busy" && activity !== "waiting_input") return null;
	if ((finished.lastAtMs(agent) ?? 0) >= delivered.endedAtMs) return null;
	return `${timeOf(delivered)} is still running: ${agent} works on its message`;
}

function timeOf({ slotMs }: StoredSlot): string {
	return `the slot of ${new Date(slotMs).toISOString()}`;
}

function workOf({ started }: StoredSlot): string {
	return started === null ? "it has just fired" : `${started.type} ${idOf(started)}`;
}
