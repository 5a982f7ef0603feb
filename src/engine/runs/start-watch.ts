/** Fails a start that never becomes ready. */

import type { SessionSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import { lastLines, startSinceMs, startTimeoutMs } from "../../core/start-timeout.js";
import type { LifeWorld } from "./life-world.js";
import type { Run } from "./run.js";

const POLL_MS = 1_000;

export interface StartWatch {
	/** Whether the start is still pending. */
	readonly isPending: () => boolean;
	stop(): void;
}

export const NO_START_WATCH: StartWatch = { isPending: () => false, stop: () => {} };

export function watchStart(
	world: LifeWorld,
	spec: SessionSpec,
	run: Run,
	known: () => KnownActivity | null,
	onTimeout: (afterMs: number, screen: readonly string[]) => void,
): StartWatch {
	const { clock, sessions, accounts, drafts, onError } = world;
	const { screen } = sessions.adapterOf(spec).profile;
	const timeoutMs = startTimeoutMs(spec.startTimeoutMs, spec.terminal ? screen : null);
	const { handle, backend } = run;
	if (timeoutMs === null || handle === null || backend === null) return NO_START_WATCH;
	let sinceMs = clock.now().steadyMs;
	let stopped = false;
	let cancel = clock.schedule(POLL_MS, check);

	function check(): void {
		if (stopped || run.ready) return;
		const nowMs = clock.now().steadyMs;
		const isHeld = accounts.holdOf(spec) !== null;
		const hasDraft = drafts.has(spec.id, []);
		const activity = known()?.activity ?? null;
		sinceMs = startSinceMs(sinceMs, { activity, isHeld, hasDraft, nowMs });
		if (nowMs - sinceMs >= (timeoutMs ?? 0)) void timeOut();
		else cancel = clock.schedule(POLL_MS, check);
	}

	const readShown = async () =>
		spec.terminal
			? (await backend.screen(handle)).text
			: sessions.lastOutput(spec, handle.outputFrom ?? 0);

	async function timeOut(): Promise<void> {
		const text = await readShown().catch((error: unknown) => {
			onError(spec.id, error);
			return "";
		});
		if (!stopped && !run.ready) onTimeout(timeoutMs ?? 0, lastLines(text));
	}

	return {
		isPending: () => !stopped && !run.ready,
		stop() {
			stopped = true;
			cancel();
		},
	};
}
