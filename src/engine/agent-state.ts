/** What a runner knows of its agent, and how that looks from outside. */

import type { AgentSpec } from "../config/spec.js";
import type { KnownActivity } from "../core/activity.js";
import type { Asker } from "../core/exit.js";
import type { ProcessState } from "../core/states.js";
import type { Backend, RunHandle } from "../ports/backend.js";
import type { RunConversation, StoredAgent, StoredExit } from "../ports/store.js";
import { createSignal, type Signal } from "./waiting.js";

/** A stored agent whose spec is known to be one, with the values of its environment. */
export interface Agent extends Omit<StoredAgent, "spec"> {
	readonly spec: AgentSpec;
}

/** The run that is under way. */
export interface LiveRun {
	readonly runId: string;
	/** What holds it; another one may be chosen for the next run. */
	readonly backend: Backend;
	readonly withContinue: boolean;
	readonly intendedAtMs: number;
	/** Null until the start is confirmed. */
	handle: RunHandle | null;
	/** Null when this daemon did not see it start. */
	startedSteadyMs: number | null;
	askedBy: Asker | null;
	/** Null for an agent without one, and until the start is prepared. */
	conversation: RunConversation | null;
	ready: boolean;
	/** Resolves once its exit is recorded. */
	readonly ended: Signal<void>;
}

/** An agent as the surfaces show it. */
export interface AgentSnapshot {
	readonly agent: Agent;
	readonly process: ProcessState;
	readonly run: Readonly<Pick<LiveRun, "runId" | "handle">> | null;
	/** How many processes serve it now. */
	readonly processes: number;
	readonly ready: boolean;
	/** What it does; null where nobody looks after it. */
	readonly known: KnownActivity | null;
	readonly lastExit: StoredExit | null;
	/** Wall time of the next start, where one is planned. */
	readonly nextStartAtMs: number | null;
}

/** The spec as it may be stored: with the names of its variables, without their values (A5). */
export function withoutSecrets(spec: AgentSpec): AgentSpec {
	const names = Object.keys(spec.env).map((name) => [name, null]);
	return { ...spec, env: Object.fromEntries(names) };
}

export function processStateOf(
	run: LiveRun | null,
	wantsToStart: boolean,
	unknown: boolean,
): ProcessState {
	if (unknown) return "unknown";
	if (run === null) return wantsToStart ? "starting" : "stopped";
	if (run.askedBy !== null) return "stopping";
	return run.handle === null ? "starting" : "running";
}

/** A run that is intended and has not begun. */
export function newRun(
	runId: string,
	backend: Backend,
	withContinue: boolean,
	intendedAtMs: number,
): LiveRun {
	return {
		runId,
		backend,
		withContinue,
		intendedAtMs,
		handle: null,
		startedSteadyMs: null,
		askedBy: null,
		conversation: null,
		ready: false,
		ended: createSignal(),
	};
}
