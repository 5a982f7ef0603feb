/**
 * The policy for the services of a program, mainly the daemon. A service is critical (its failure stops the program),
 * restartable (restarted within a budget) or tolerated (its failure is logged). The back-off is a delay returned as
 * data, so the loop that waits for it can also react to a stop or to another failure.
 */

import { backoffDelayMs } from "./backoff.js";
import { renderDuration, renderElapsed } from "./units.js";

/** Whether a service may stop: `critical` never, `restartable` within its budget, `tolerated` always. */
export type ServicePolicy = "critical" | "restartable" | "tolerated";

/** How often and how fast a service is restarted. */
export interface ServiceSettings {
	/** Consecutive restarts before everything stops. */
	readonly retries: number;
	readonly initialBackoffMs: number;
	readonly maxBackoffMs: number;
	/** After running this long the restart budget is reset. */
	readonly resetAfterMs: number;
	/** A start that takes longer has failed. */
	readonly startTimeoutMs: number;
}

/** The default settings of a service. */
export const DEFAULT_SERVICE: ServiceSettings = Object.freeze({
	retries: 5,
	initialBackoffMs: 500,
	maxBackoffMs: 30_000,
	resetAfterMs: 300_000,
	startTimeoutMs: 30_000,
});

/** How long services have to stop: on a requested stop, and after a fatal failure. */
export const SHUTDOWN: Readonly<
	Record<"graceful" | "fatal", { readonly drainMs: number; readonly exitCode: number }>
> = {
	graceful: { drainMs: 10_000, exitCode: 0 },
	// Exit code 1 makes systemd or launchd restart the program.
	fatal: { drainMs: 3_000, exitCode: 1 },
};

/** The stored state of a service. */
export interface ServiceState {
	readonly status: "running" | "restarting" | "ended";
	/** Restarts since the service last ran for `resetAfterMs`. */
	readonly retriesUsed: number;
	/** Total restarts, for display. */
	readonly restarts: number;
}

/** The state of a service that has not ended yet. */
export const NEW_SERVICE: ServiceState = Object.freeze({
	status: "running",
	retriesUsed: 0,
	restarts: 0,
});

/** `ranMs` counts from when the service was ready; null if it never was. */
export type ServiceEnding =
	| { readonly type: "returned"; readonly ranMs: number | null }
	| { readonly type: "threw"; readonly ranMs: number | null; readonly error: string }
	| { readonly type: "start_timeout" }
	/** Its start hung, it was asked to stop before a restart, and it has not stopped. */
	| { readonly type: "lingered" };

/** The action after a service has stopped. */
export type ServiceAction =
	| { readonly type: "restart"; readonly afterMs: number }
	/** Stop everything, within `SHUTDOWN.fatal`. */
	| { readonly type: "fatal" }
	| { readonly type: "none" };

/** The new state of a service, the action, and the reason. */
export interface ServiceDecision {
	readonly state: ServiceState;
	readonly action: ServiceAction;
	readonly reason: string;
}

/** Decides what happens after a service stopped without a request. */
export function decideAfterServiceEnd(
	state: ServiceState,
	policy: ServicePolicy,
	ending: ServiceEnding,
	settings: ServiceSettings,
): ServiceDecision {
	return DECIDE_BY_POLICY[policy](state, ending, settings);
}

type Decide = (
	state: ServiceState,
	ending: ServiceEnding,
	settings: ServiceSettings,
) => ServiceDecision;

const DECIDE_BY_POLICY: Readonly<Record<ServicePolicy, Decide>> = {
	critical: (state, ending, settings) => ({
		state: { ...state, status: "ended" },
		action: { type: "fatal" },
		reason: `critical service ${render(ending, settings)}`,
	}),
	tolerated: (state, ending, settings) => ({
		state: { ...state, status: "ended" },
		action: { type: "none" },
		reason: `tolerated service ${render(ending, settings)}; the daemon continues without it`,
	}),
	restartable: decideRestart,
};

function decideRestart(
	state: ServiceState,
	ending: ServiceEnding,
	settings: ServiceSettings,
): ServiceDecision {
	const ranMs = "ranMs" in ending ? ending.ranMs : null;
	const isStable = ranMs !== null && ranMs >= settings.resetAfterMs;
	const used = isStable ? 0 : state.retriesUsed;
	const what = `restartable service ${render(ending, settings)}`;
	if (used >= settings.retries) {
		return {
			state: { ...state, status: "ended", retriesUsed: used },
			action: { type: "fatal" },
			reason: `${what}; all ${settings.retries} restarts are used up`,
		};
	}
	const afterMs = backoffDelayMs(
		{ initialMs: settings.initialBackoffMs, capMs: settings.maxBackoffMs, jitter: 0 },
		used + 1,
		0,
	);
	return {
		state: { status: "restarting", retriesUsed: used + 1, restarts: state.restarts + 1 },
		action: { type: "restart", afterMs },
		reason: `${what}; restart ${used + 1} of ${settings.retries} in ${renderDuration(afterMs)}`,
	};
}

function render(ending: ServiceEnding, settings: ServiceSettings): string {
	const limit = renderDuration(settings.startTimeoutMs);
	if (ending.type === "start_timeout") return `did not start within ${limit}`;
	if (ending.type === "lingered")
		return `did not stop within another ${limit} after it was asked to`;
	const when =
		ending.ranMs === null ? "before it was ready" : `after ${renderElapsed(ending.ranMs)}`;
	return ending.type === "returned" ? `stopped ${when}` : `failed ${when}: ${ending.error}`;
}
