/**
 * The circuit breaker of one agent decides whether a request to it may start a process. Its state is
 * plain data in the store and changes only inside a transaction, so no race loses a count.
 *
 * The breaker counts requests, not attempts. A request calls `admit` before each attempt and keeps its
 * permit between them; `recordAttempt` returns the permit when the request is finished. Every
 * transition starts a new generation; a permit of an earlier generation is stale.
 *
 * Keeps B1 to B7.
 */

import { countsAgainstAgent, type Outcome } from "./outcome.js";
import type { RetryDecision } from "./retry.js";
import type { CircuitState, Health } from "./states.js";
import type { Instant } from "./time.js";
import { renderDuration, renderElapsed } from "./units.js";

/** When a circuit opens and how long it stays open. */
export interface BreakerSettings {
	/** This many consecutive failed requests open the circuit. */
	readonly failureThreshold: number;
	readonly cooldownMs: number;
}

/** The default settings of the circuit breaker. */
export const DEFAULT_BREAKER: BreakerSettings = Object.freeze({
	failureThreshold: 3,
	cooldownMs: 60_000,
});

/** The stored state of a circuit, as plain JSON. */
export interface BreakerState {
	readonly circuit: CircuitState;
	readonly consecutiveFailures: number;
	/** Incremented with every transition, so that results of earlier calls can be distinguished (B5). */
	readonly generation: number;
	/** Half-open: whether the probe, a request with all its attempts, is in progress. */
	readonly probing: boolean;
	readonly openUntil: Instant | null;
	readonly lastFailureAtWallMs: number | null;
	readonly lastSuccessAtWallMs: number | null;
}

/** The permit of an admitted request; it is returned together with the result. */
export interface Permit {
	readonly generation: number;
	readonly probe: boolean;
}

/** Whether a circuit admits a request, and the reason. */
export interface Admission {
	readonly state: BreakerState;
	/** Null when no attempt may start now. */
	readonly permit: Permit | null;
	readonly reason: string;
}

/** The state of a circuit after something happened to it, with the reason. */
export interface BreakerChange {
	readonly state: BreakerState;
	readonly reason: string;
}

/** A closed circuit without failures. */
export const NEW_BREAKER: BreakerState = Object.freeze({
	circuit: "closed",
	consecutiveFailures: 0,
	generation: 0,
	probing: false,
	openUntil: null,
	lastFailureAtWallMs: null,
	lastSuccessAtWallMs: null,
});

/** Decides whether an attempt may start. `held` is the permit of the request's previous attempt, if it had one. */
export function admit(before: BreakerState, now: Instant, held: Permit | null = null): Admission {
	const state = coolDown(before, now);
	if (held !== null && held.generation === state.generation) {
		return { state, permit: held, reason: `${state.circuit}: the request continues` };
	}
	if (state.circuit === "closed") {
		return { state, permit: { generation: state.generation, probe: false }, reason: "closed" };
	}
	// B2: an open circuit admits nothing.
	if (state.circuit === "open") {
		const leftMs = remainingMs(state, now);
		return { state, permit: null, reason: `circuit open for another ${renderElapsed(leftMs)}` };
	}
	// B1: half-open admits exactly one probe.
	if (state.probing) {
		return { state, permit: null, reason: "circuit half open, and its only probe is in progress" };
	}
	return {
		state: { ...state, probing: true },
		permit: { generation: state.generation, probe: true },
		reason: "circuit half open: this request is the probe",
	};
}

/**
 * Records the result of an attempt. An attempt that will be retried neither counts nor returns its
 * permit, because its request continues.
 */
export function recordAttempt(
	state: BreakerState,
	permit: Permit,
	ended: { readonly outcome: Outcome; readonly decision: RetryDecision },
	now: Instant,
	settings: BreakerSettings,
): BreakerChange {
	if (ended.decision.type === "retry") {
		return { state, reason: "the request is retried: only its final result counts" };
	}
	return recordResult(state, permit, ended.outcome, now, settings);
}

/** Returns a permit together with the result of the request. */
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
	if (!countsAgainstAgent(outcome)) {
		const what = outcome.callersDeadline ? "the caller's own deadline" : outcome.error;
		return {
			state: returnPermit(state, permit),
			reason: `${what} does not count against the agent`,
		};
	}
	return recordFailure(state, now, settings);
}

/** Returns the permit of a cancelled request, which proves nothing (B3). */
export function recordCancelled(state: BreakerState, permit: Permit): BreakerChange {
	return { state: returnPermit(state, permit), reason: "request cancelled: permit released" };
}

/** The operator closes the circuit. */
export function decideClose(state: BreakerState): BreakerChange {
	return {
		state: { ...closed(state), consecutiveFailures: 0 },
		reason: `circuit closed by the operator (was ${state.circuit})`,
	};
}

/** The state at this time: an open circuit whose cooldown is over is half open (B4). */
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
 * The state as a new daemon reads it. Steady time restarts with every boot, so the rest of a cooldown is computed from
 * the wall clock once, limited to the cooldown's length. A probe that was in progress is lost with its caller (B3, B4).
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

/** How long an open circuit still refuses requests; 0 if it does not. */
export function refusesForMs(state: BreakerState, now: Instant): number {
	return state.circuit === "open" ? remainingMs(state, now) : 0;
}

/** The health of an agent, from its circuit. */
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
			reason: `failed request ${consecutiveFailures} of ${settings.failureThreshold}`,
		};
	}
	const { cooldownMs } = settings;
	const why =
		state.circuit === "closed" ? `${renderFailures(consecutiveFailures)} in a row` : "probe failed";
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

function renderFailures(count: number): string {
	return count === 1 ? "1 failed request" : `${count} failed requests`;
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

/** B7: only steady time decides; the wall time of the deadline is only shown. */
function remainingMs(state: BreakerState, now: Instant): number {
	return state.openUntil === null ? 0 : Math.max(0, state.openUntil.steadyMs - now.steadyMs);
}
