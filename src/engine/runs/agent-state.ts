/** The state of an agent in the engine, and its external view. */

import type { AgentSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import type { HibernationView } from "../../core/hibernation.js";
import type { ProcessState } from "../../core/states.js";
import type { StoredAgent, StoredExit } from "../../ports/store.js";
import type { HealthView } from "./health-watch.js";
import type { Run, SessionRun } from "./run.js";

/** A stored agent with a validated spec and the values of its environment. */
export interface Agent extends Omit<StoredAgent, "spec"> {
	readonly spec: AgentSpec;
}

/** An agent as shown by the API. */
export interface AgentSnapshot {
	readonly agent: Agent;
	readonly process: ProcessState;
	readonly run: Readonly<Pick<Run, "runId" | "handle">> | null;
	/** How many processes serve it now. */
	readonly processes: number;
	readonly ready: boolean;
	/** Its process is gone, but its exit is not recorded yet. */
	readonly gone: Run["gone"];
	/** Its activity; null if the session is not attended. */
	readonly known: KnownActivity | null;
	/** Why it does not hibernate yet; null if it does, does not run, or never hibernates. */
	readonly hibernation: HibernationView | null;
	/** The checks of its health; null if it is not checked. */
	readonly health: HealthView | null;
	readonly lastExit: StoredExit | null;
	/** Wall time of the next start, if one is planned. */
	readonly nextStartAtMs: number | null;
}

/** An agent as the other parts of the engine know it. */
export interface KnownAgent {
	readonly id: string;
	readonly spec: AgentSpec;
	/** Whether it waits for permission to start. */
	readonly wantsStart: boolean;
	snapshot(): AgentSnapshot;
}

export type KnownAgents = ReadonlyMap<string, KnownAgent>;

/** Whether an agent stays down without an action of the operator, or until the next day. */
export function isHeldDown(
	agents: KnownAgents,
	id: string,
	usage: { held(spec: AgentSpec): string | null },
): boolean {
	const snapshot = agents.get(id)?.snapshot();
	if (snapshot === undefined) return true;
	if (snapshot.run !== null) return false;
	const { desired, crash, waiting, spec } = snapshot.agent;
	return desired === "down" || crash.policy === "halted" || waiting || usage.held(spec) !== null;
}

/** Whether its last run finished its work, and nothing has been started since. */
export function hasCompleted({
	agent,
	run,
	lastExit,
}: Pick<AgentSnapshot, "agent" | "run" | "lastExit">): boolean {
	const { spec, desired } = agent;
	if (spec.kind !== "session" || spec.onCleanExit !== "complete") return false;
	return desired === "down" && run === null && lastExit?.kind === "clean";
}

/** The id of its current run, or of its last one; null before the first. */
export function newestRun({
	run,
	lastExit,
}: Pick<AgentSnapshot, "run" | "lastExit">): string | null {
	return run?.runId ?? lastExit?.runId ?? null;
}

/** Why an agent that others wait for will not start or finish by itself, as text; null if it may. */
export function blockReason(
	agents: KnownAgents,
	id: string,
	usage: { held(spec: AgentSpec): string | null },
): string | null {
	if (!isHeldDown(agents, id, usage)) return null;
	const snapshot = agents.get(id)?.snapshot();
	if (snapshot === undefined) return `${id} does not exist`;
	const { desired, crash, reason, waiting } = snapshot.agent;
	if (crash.policy === "halted") return `${id} has failed: ${reason}`;
	if (waiting) return `${id} waits for the operator: ${reason}`;
	return desired === "down" ? `${id} is stopped: ${reason}` : `${id} is over its budget`;
}

/** The spec as it is stored: with the names of its variables, without their values (A5). */
export function withoutSecrets(spec: AgentSpec): AgentSpec {
	const names = Object.keys(spec.env).map((name) => [name, null]);
	return { ...spec, env: Object.fromEntries(names) };
}

type RunSnapshot = Pick<
	AgentSnapshot,
	| "process"
	| "run"
	| "processes"
	| "ready"
	| "gone"
	| "known"
	| "health"
	| "hibernation"
	| "nextStartAtMs"
>;

/** An agent without runs. */
export const NO_RUN: RunSnapshot = {
	process: "stopped",
	run: null,
	processes: 0,
	ready: false,
	gone: null,
	known: null,
	health: null,
	hibernation: null,
	nextStartAtMs: null,
};

interface RunFacts {
	readonly wantsToStart: boolean;
	/** Processes of the last run are being killed. */
	readonly isEnding: boolean;
}

interface WatchedRun {
	readonly known: () => KnownActivity | null;
	readonly health: () => HealthView | null;
	readonly hibernation: () => HibernationView | null;
}

/** The run in a snapshot: a process that is gone is neither ready nor active. */
export function snapshotOfRun(
	run: SessionRun | null,
	facts: RunFacts,
	ready: boolean,
	watch: WatchedRun | null,
): Omit<RunSnapshot, "nextStartAtMs"> {
	const gone = run?.gone ?? null;
	return {
		process: processStateOf(run, facts),
		run,
		gone,
		processes: run?.handle && gone === null ? 1 : 0,
		ready: ready && gone === null,
		known: run === null || gone !== null ? null : (watch?.known() ?? null),
		health: run === null || gone !== null ? null : (watch?.health() ?? null),
		hibernation: run === null || gone !== null ? null : (watch?.hibernation() ?? null),
	};
}

function processStateOf(run: SessionRun | null, facts: RunFacts): ProcessState {
	if (run?.isUnknown) return "unknown";
	if (run === null && facts.isEnding) return "stopping";
	if (run === null) return facts.wantsToStart ? "starting" : "stopped";
	if (run.gone !== null) return facts.isEnding ? "stopping" : "stopped";
	if (run.askedBy !== null) return "stopping";
	return run.handle === null ? "starting" : "running";
}
