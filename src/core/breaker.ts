/**
 * The circuit breaker of one agent: whether a call to it is let through. State is plain data, kept
 * in the store and changed only inside a transaction, so no race loses a count.
 *
 * A call asks `admit` for a permit before any process starts, and gives the permit back with
 * `recordResult`. Every transition starts a new generation; a permit of an earlier one is stale.
 *
 * Keeps B1 to B7.
 */

import { ATTEMPT_ERROR_TRAITS, type Outcome } from "./outcome.js";
import type { CircuitState, Health } from "./states.js";
import type { Instant } from "./time.js";
import { renderDuration, renderElapsed } from "./units.js";

export interface BreakerSettings {
	/** This many counted failures in a row open the circuit. */
	readonly failureThreshold: number;
	readonly cooldownMs: number;
}

export const DEFAULT_BREAKER: BreakerSettings = Object.freeze({
	failureThreshold: 3,
	cooldownMs: 60_000,
});

export interface BreakerState {
	readonly circuit: CircuitState;
	readonly consecutiveFailures: number;
	/** Goes up with every transition, so that results of earlier calls can be told apart (B5). */
	readonly generation: number;
	/** Half-open: whether the one probe is under way. */
	readonly probing: boolean;
	readonly openUntil: Instant | null;
	readonly lastFailureAtWallMs: number | null;
	readonly lastSuccessAtWallMs: number | null;
}

export interface Permit {
	readonly generation: number;
	readonly probe: boolean;
}

export interface Admission {
	readonly state: BreakerState;
	/** Null when the call must fail at once with `agent_unavailable`. */
	readonly permit: Permit | null;
	readonly reason: string;
}

export interface BreakerChange {
	readonly state: BreakerState;
	readonly reason: string;
}

export const NEW_BREAKER: BreakerState = Object.freeze({
	circuit: "closed",
	consecutiveFailures: 0,
	generation: 0,
	probing: false,
	openUntil: null,
	lastFailureAtWallMs: null,
	lastSuccessAtWallMs: null,
});

/** Asks for a call to be let through. */
export function admit(before: BreakerState, now: Instant): Admission {
	const state = coolDown(before, now);
	if (state.circuit === "closed") {
		return { state, permit: { generation: state.generation, probe: false }, reason: "closed" };
	}
	// B2: an open circuit lets nothing through.
	if (state.circuit === "open") {
		const leftMs = remainingMs(state, now);
		return { state, permit: null, reason: `circuit open for another ${renderElapsed(leftMs)}` };
	}
	// B1: half-open lets exactly one probe through.
	if (state.probing) {
		return { state, permit: null, reason: "circuit half open and its one probe is under way" };
	}
	return {
		state: { ...state, probing: true },
		permit: { generation: state.generation, probe: true },
		reason: "circuit half open: this call is the probe",
	};
}

/** Takes a permit back with what became of the call. */
export function recordResult(
	state: BreakerState,
	permit: Permit,
	outcome: Outcome,
	now: Instant,
	settings: BreakerSettings,
): BreakerChange {
	if (permit.generation !== state.generation) {
		return { state, reason: "result from before the last transition: ignored" };
	}
	if (outcome.ok) return recordSuccess(state, now);
	if (!ATTEMPT_ERROR_TRAITS[outcome.error].counts) {
		return {
			state: returnPermit(state, permit),
			reason: `${outcome.error} does not count against the agent`,
		};
	}
	return recordFailure(state, now, settings);
}

/** Takes a permit back from a call that was cancelled: it proved nothing (B3). */
export function recordCancelled(state: BreakerState, permit: Permit): BreakerChange {
	return { state: returnPermit(state, permit), reason: "call cancelled: its permit is free again" };
}

/** The operator closes the circuit by hand. */
export function decideClose(state: BreakerState): BreakerChange {
	return {
		state: { ...closed(state), consecutiveFailures: 0 },
		reason: `circuit closed by the operator from ${state.circuit}`,
	};
}

/** The state as it is at this moment: an open circuit whose time is up is half open (B4). */
export function coolDown(state: BreakerState, now: Instant): BreakerState {
	if (state.circuit !== "open" || remainingMs(state, now) > 0) return state;
	return {
		...state,
		circuit: "half_open",
		generation: state.generation + 1,
		probing: false,
		openUntil: null,
	};
}

/**
 * The state as a new daemon takes it up. Steady time begins anew with every boot, so what is left of
 * a cooldown is read off the wall clock once, within the cooldown's length; a probe that was under
 * way is gone with whoever waited for it (B3, B4).
 */
export function recoverBreaker(
	state: BreakerState,
	now: Instant,
	settings: BreakerSettings,
): BreakerState {
	if (state.openUntil === null) return { ...state, probing: false };
	const leftMs = Math.min(settings.cooldownMs, Math.max(0, state.openUntil.wallMs - now.wallMs));
	const openUntil = { steadyMs: now.steadyMs + leftMs, wallMs: now.wallMs + leftMs };
	return { ...state, probing: false, openUntil };
}

export function healthOf(state: BreakerState): Health {
	if (state.circuit !== "closed") return "unhealthy";
	return state.consecutiveFailures > 0 ? "degraded" : "healthy";
}

function recordSuccess(state: BreakerState, now: Instant): BreakerChange {
	const next = state.circuit === "closed" ? state : closed(state);
	return {
		state: { ...next, consecutiveFailures: 0, lastSuccessAtWallMs: now.wallMs },
		reason: state.circuit === "closed" ? "success" : "probe succeeded: circuit closed",
	};
}

function recordFailure(
	state: BreakerState,
	now: Instant,
	settings: BreakerSettings,
): BreakerChange {
	const consecutiveFailures = state.consecutiveFailures + 1;
	const counted = { ...state, consecutiveFailures, lastFailureAtWallMs: now.wallMs };
	if (state.circuit === "closed" && consecutiveFailures < settings.failureThreshold) {
		return {
			state: counted,
			reason: `failure ${consecutiveFailures} of ${settings.failureThreshold}`,
		};
	}
	const { cooldownMs } = settings;
	const why =
		state.circuit === "closed" ? `failure ${consecutiveFailures} in a row` : "probe failed";
	return {
		state: {
			...counted,
			circuit: "open",
			generation: state.generation + 1,
			probing: false,
			openUntil: { steadyMs: now.steadyMs + cooldownMs, wallMs: now.wallMs + cooldownMs },
		},
		reason: `${why}: circuit open for ${renderDuration(cooldownMs)}`,
	};
}

function returnPermit(state: BreakerState, permit: Permit): BreakerState {
	const current = permit.generation === state.generation;
	return permit.probe && current ? { ...state, probing: false } : state;
}

function closed(state: BreakerState): BreakerState {
	return {
		...state,
		circuit: "closed",
		generation: state.generation + 1,
		probing: false,
		openUntil: null,
	};
}

/** B7: only steady time decides; the wall time of the deadline is for showing. */
function remainingMs(state: BreakerState, now: Instant): number {
	return state.openUntil === null ? 0 : Math.max(0, state.openUntil.steadyMs - now.steadyMs);
}
