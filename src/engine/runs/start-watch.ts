/** Fails a start that never becomes ready. */

import type { SessionSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import { lastLines, startSinceMs, startTimeoutMs } from "../../core/start-timeout.js";
import { renderDuration } from "../../core/units.js";
import type { LifeWorld } from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import type { Run, SessionRun } from "./run.js";

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
	run: Run,
	known: () => KnownActivity | null,
	onTimeout: (afterMs: number, screen: readonly string[]) => void,
): StartWatch {
	const { clock, sessions, accounts, onError } = world;
	const { screen } = sessions.adapterOf(spec).profile;
	const timeoutMs = startTimeoutMs(spec.startTimeoutMs, spec.terminal ? screen : null);
	const { handle, backend } = run;
	if (timeoutMs === null || handle === null || backend === null) return NO_START_WATCH;
	let sinceMs = clock.now().steadyMs;
	let stopped = false;
	let cancel = clock.schedule(LOOK_EVERY_MS, look);

	function look(): void {
		if (stopped || run.ready) return;
		const nowMs = clock.now().steadyMs;
		const isHeld = accounts.holdOf(spec) !== null;
		sinceMs = startSinceMs(sinceMs, { activity: known()?.activity ?? null, isHeld, nowMs });
		if (nowMs - sinceMs >= (timeoutMs ?? 0)) void giveUp();
		else cancel = clock.schedule(LOOK_EVERY_MS, look);
	}

	const readShown = async () =>
		spec.terminal ? (await backend.screen(handle)).text : sessions.lastWords(spec);

	async function giveUp(): Promise<void> {
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

/** A start that never became ready has failed: the agent is killed, and its exit goes to the crash policy. */
export async function failStart(
	agent: PersistedAgent,
	run: SessionRun,
	afterMs: number,
	screen: readonly string[],
): Promise<void> {
	const { backend, handle, runId } = run;
	if (handle === null || run.ready || run.askedBy !== null) return;
	const last = screen.at(-1);
	const shown = last === undefined ? "its screen is empty" : `the last line of its screen: ${last}`;
	const detail = `it was not ready after ${renderDuration(afterMs)}; ${shown}`;
	const data = { after_ms: afterMs, screen };
	const about = { agent: agent.now.id, run_id: runId };
	await agent.save({ reason: detail }, [{ ...about, type: "agent.start_timeout", data }]);
	run.startTimedOut = detail;
	const killed = await backend.kill({ runId, handle });
	if (!killed.ok)
		await agent.save({ reason: `${detail}; it cannot be killed: ${killed.reason}` }, []);
}
