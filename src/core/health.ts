/**
 * The judgement of an agent's health check: when an agent counts as unhealthy, when it has recovered, and
 * whether it may be restarted for that now. Failures count one after another; one success ends the count.
 */

import type { Activity } from "./states.js";
import { renderDuration } from "./units.js";

export const HEALTH_ACTIONS = ["notify", "restart"] as const;
/** The action for an unhealthy agent, besides the report. */
export type HealthAction = (typeof HEALTH_ACTIONS)[number];

export interface HealthSettings {
	/** This many failed checks in a row make the agent unhealthy. */
	readonly failures: number;
	/** Failed checks in this time after the start do not count, until one has succeeded. */
	readonly startPeriodMs: number;
	readonly action: HealthAction;
	/** Whether a restart may interrupt the turn of an agent CLI. */
	readonly interruptTurn: boolean;
}

export const DEFAULT_HEALTH = Object.freeze({
	everyMs: 30_000,
	timeoutMs: 10_000,
	failures: 3,
	startPeriodMs: 0,
	action: "notify",
	interruptTurn: false,
} satisfies HealthSettings & { everyMs: number; timeoutMs: number });

/** The result of one check. */
export interface HealthCheck {
	/** Why it failed, as text; null if it succeeded. */
	readonly error: string | null;
	/** Wall time. */
	readonly atMs: number;
}

/** The checks of one run so far. */
export interface HealthState {
	readonly last: HealthCheck | null;
	/** Failed checks in a row that count. */
	readonly failures: number;
	readonly hasPassed: boolean;
	/** When it became unhealthy, in wall time; null if it is not. */
	readonly unhealthySinceMs: number | null;
}

export const NO_HEALTH_CHECK: HealthState = Object.freeze({
	last: null,
	failures: 0,
	hasPassed: false,
	unhealthySinceMs: null,
});

export interface HealthDecision {
	readonly state: HealthState;
	/** The change to report; null if there is none. */
	readonly change: "unhealthy" | "recovered" | null;
}

/** `upMs`: how long the run has lasted. */
export function decideHealth(
	before: HealthState,
	check: HealthCheck,
	upMs: number,
	{ failures: limit, startPeriodMs }: Pick<HealthSettings, "failures" | "startPeriodMs">,
): HealthDecision {
	if (check.error === null) {
		const state = { last: check, failures: 0, hasPassed: true, unhealthySinceMs: null };
		return { state, change: before.unhealthySinceMs === null ? null : "recovered" };
	}
	if (!before.hasPassed && upMs < startPeriodMs) {
		return { state: { ...before, last: check }, change: null };
	}
	const failures = before.failures + 1;
	const isNew = before.unhealthySinceMs === null && failures >= limit;
	const unhealthySinceMs = isNew ? check.atMs : before.unhealthySinceMs;
	return {
		state: { ...before, last: check, failures, unhealthySinceMs },
		change: isNew ? "unhealthy" : null,
	};
}

export interface UnhealthyRun {
	/** Null for a program without a CLI that Reeve can observe: it has no turns. */
	readonly activity: Activity | null;
	/** Whether a message is being typed, or waits for its confirmation. */
	readonly isDelivering: boolean;
}

/** Whether an unhealthy agent is restarted now; otherwise why not, as text. */
export function decideHealthRestart(
	{ action, interruptTurn }: Pick<HealthSettings, "action" | "interruptTurn">,
	{ activity, isDelivering }: UnhealthyRun,
): { readonly restart: true } | { readonly restart: false; readonly reason: string | null } {
	if (action === "notify") return { restart: false, reason: null };
	if (interruptTurn || activity === null) return { restart: true };
	if (isDelivering)
		return { restart: false, reason: "not restarted while a message is being delivered" };
	const reason = KEEPS[activity];
	return reason === null ? { restart: true } : { restart: false, reason };
}

/** Why an agent CLI with this activity is not restarted; null if it has no turn to lose. */
const KEEPS: Readonly<Record<Activity, string | null>> = {
	starting: null,
	ready: null,
	busy: "not restarted in the middle of a turn",
	waiting_input: "not restarted while it waits for an answer",
	rate_limited: "not restarted while it waits for its usage limit",
	draining: "it is already stopping",
	unknown: "not restarted while its activity is unknown: it may be in the middle of a turn",
};

/** `failed 3 times in a row: no answer within 10s`. */
export function renderUnhealthy({ failures, last }: HealthState): string {
	const times = failures === 1 ? "failed" : `failed ${failures} times in a row`;
	return `its health check ${times}: ${last?.error ?? "unknown error"}`;
}

/** `no answer within 10s`. */
export function renderNoAnswer(timeoutMs: number): string {
	return `no answer within ${renderDuration(timeoutMs)}`;
}
