/**
 * Checks the health of a running agent at regular intervals, once it is ready. The checks of many agents are
 * spread over the interval. Nothing here survives the daemon: the next one checks again.
 */

import type { HealthSpec, SessionSpec, WorkerSpec } from "../../config/spec.js";
import {
	decideHealth,
	decideHealthRestart,
	type HealthState,
	NO_HEALTH_CHECK,
	renderUnhealthy,
	type UnhealthyRun,
} from "../../core/health.js";
import { messageOf } from "../../core/message-of.js";
import { plainLine } from "../../core/safe-text.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent } from "../../ports/store.js";
import { scheduleLong } from "../waiting.js";

/** While the agent is not ready yet. */
const POLL_MS = 1_000;
const ERROR_LENGTH_MAX = 300;

/** One check: why it failed, as text; null if it succeeded. It ends within the timeout. */
export type HealthProbe = (
	spec: SessionSpec | WorkerSpec,
	health: HealthSpec,
) => Promise<string | null>;

export interface CheckedRun extends UnhealthyRun {
	readonly isReady: boolean;
	readonly upMs: number;
}

export interface HealthWatchWorld {
	readonly clock: Clock;
	readonly random: () => number;
	readonly checkHealth: HealthProbe;
	readonly look: () => CheckedRun;
	readonly note: (event: Extract<NewEvent, { type: `agent.${string}` }>) => Promise<void>;
	/** It is unhealthy and may be restarted now. May be called again until the run ends. */
	readonly onRestart: (detail: string) => void;
	readonly onError: (error: unknown) => void;
}

/** The checks of a run, as they are shown. */
export interface HealthView extends HealthState {
	readonly spec: HealthSpec;
	/** Why an unhealthy agent is not restarted yet, as text; null if it is, or is never restarted. */
	readonly waits: string | null;
}

export interface HealthWatch {
	readonly view: () => HealthView | null;
	stop(): void;
}

export const NO_HEALTH_WATCH: HealthWatch = { view: () => null, stop: () => {} };

export function watchHealth(spec: SessionSpec | WorkerSpec, world: HealthWatchWorld): HealthWatch {
	const { health } = spec;
	if (health === undefined) return NO_HEALTH_WATCH;
	const { clock, random, checkHealth, look, note, onRestart, onError } = world;
	let state: HealthState = NO_HEALTH_CHECK;
	let waits: string | null = null;
	let stopped = false;
	let cancel = clock.schedule(0, () => whenReady(health));

	function whenReady(settings: HealthSpec): void {
		if (look().isReady) later(settings, random() * settings.everyMs);
		else cancel = clock.schedule(POLL_MS, () => whenReady(settings));
	}

	function later(settings: HealthSpec, afterMs: number): void {
		if (!stopped) cancel = scheduleLong(clock, afterMs, () => void again(settings));
	}

	async function again(settings: HealthSpec): Promise<void> {
		const sinceMs = clock.now().steadyMs;
		try {
			await check(settings);
		} catch (error) {
			if (!stopped) onError(error);
		}
		later(settings, Math.max(0, settings.everyMs - (clock.now().steadyMs - sinceMs)));
	}

	async function check(settings: HealthSpec): Promise<void> {
		const failed = await checkHealth(spec, settings).catch((error: unknown) => messageOf(error));
		if (stopped) return;
		const error = failed === null ? null : plainLine(failed).slice(0, ERROR_LENGTH_MAX);
		const before = state;
		const run = look();
		const result = { error, atMs: clock.now().wallMs };
		const decision = decideHealth(before, result, run.upMs, settings);
		state = decision.state;
		if (state.unhealthySinceMs === null) waits = null;
		const event = eventOf(decision.change, before, state, settings);
		if (event !== null) await note({ ...event, agent: spec.id });
		if (stopped || state.unhealthySinceMs === null) return;
		const restart = decideHealthRestart(settings, run);
		waits = restart.restart ? null : restart.reason;
		if (restart.restart) onRestart(renderUnhealthy(state));
	}

	return {
		view: () => ({ ...state, spec: health, waits }),
		stop() {
			stopped = true;
			cancel();
		},
	};
}

function eventOf(
	change: "unhealthy" | "recovered" | null,
	before: HealthState,
	{ failures, last }: HealthState,
	{ action }: HealthSpec,
) {
	if (change === null || last === null) return null;
	if (change === "recovered") {
		const sinceMs = before.unhealthySinceMs ?? last.atMs;
		const data = { unhealthy_ms: Math.max(0, last.atMs - sinceMs) };
		return { type: "agent.recovered", data } as const;
	}
	const data = { error: last.error ?? "", failures, action };
	return { type: "agent.unhealthy", data } as const;
}
