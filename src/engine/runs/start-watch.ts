/** Fails a start that never becomes ready. */

import type { SessionSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import { lastLines, startSinceMs, startTimeoutMs } from "../../core/start-timeout.js";
import type { LiveRun } from "./agent-state.js";
import type { LifeWorld } from "./life-world.js";

const LOOK_EVERY_MS = 1_000;

export interface StartWatch {
	/** Whether the start is still pending. */
	readonly isPending: () => boolean;
	stop(): void;
}

export const NO_START_WATCH: StartWatch = { isPending: () => false, stop: () => {} };

export function watchStart(
	world: LifeWorld,
	spec: SessionSpec,
	live: LiveRun,
	known: () => KnownActivity | null,
	onTimeout: (afterMs: number, screen: readonly string[]) => void,
): StartWatch {
	const { clock, sessions, accounts, onError } = world;
	const { screen } = sessions.adapterOf(spec).profile;
	const timeoutMs = startTimeoutMs(spec.startTimeoutMs, spec.terminal ? screen : null);
	if (timeoutMs === null || live.handle === null) return NO_START_WATCH;
	const { handle, backend } = live;
	let sinceMs = clock.now().steadyMs;
	let stopped = false;
	let cancel = clock.schedule(LOOK_EVERY_MS, look);

	function look(): void {
		if (stopped || live.ready) return;
		const nowMs = clock.now().steadyMs;
		const isHeld = accounts.holdOf(spec) !== null;
		sinceMs = startSinceMs(sinceMs, { activity: known()?.activity ?? null, isHeld, nowMs });
		if (nowMs - sinceMs >= (timeoutMs ?? 0)) void giveUp();
		else cancel = clock.schedule(LOOK_EVERY_MS, look);
	}

	async function giveUp(): Promise<void> {
		const shown = spec.terminal ? backend.screen(handle) : sessions.lastWords(spec);
		const text = await shown.catch((error: unknown) => {
			onError(spec.id, error);
			return "";
		});
		if (!stopped && !live.ready) onTimeout(timeoutMs ?? 0, lastLines(text));
	}

	return {
		isPending: () => !stopped && !live.ready,
		stop() {
			stopped = true;
			cancel();
		},
	};
}
