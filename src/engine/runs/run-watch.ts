/** Watches a run run: whether it is ready, whether it is stable, and its activity. */

import type { SessionSpec, WorkerSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import type { NewEvent } from "../../ports/store.js";
import { Attendant, isAttended } from "../attending/attendant.js";
import { scheduleLong } from "../waiting.js";
import type { LifeWorld } from "./life-world.js";
import type { Run } from "./run.js";
import { NO_START_WATCH, watchStart } from "./start-watch.js";

/** The callbacks for observed changes. */
export interface RunNews {
	readonly onReady: (afterMs: number) => void;
	readonly onStable: () => void;
	/** The others are reported for sessions only. */
	readonly onConversation?: (id: string) => void;
	readonly onRestart?: () => void;
	readonly onStartTimeout?: (afterMs: number, screen: readonly string[]) => void;
}

export interface RunWatch {
	/** The agent's activity; null if unknown. */
	readonly known: () => KnownActivity | null;
	/** Whether it counts as ready without a check: it was ready before, or a check would find nothing. */
	readonly readyAtOnce: boolean;
	stop(): void;
}

export function watchRun(
	world: LifeWorld,
	spec: SessionSpec | WorkerSpec,
	run: Run,
	adopted: boolean,
	news: RunNews,
): RunWatch {
	const { clock, watchReady } = world;
	const sinceMs = clock.now().steadyMs;
	let lasted = false;
	let isStable = false;
	const onStable = () => {
		if (!isStable) news.onStable();
		isStable = true;
	};
	const onReady = () => {
		news.onReady(clock.now().steadyMs - sinceMs);
		if (lasted) onStable();
	};
	const attendant = attend(world, spec, run, adopted, news, onReady);
	const bySign = spec.kind === "session" && attendant !== null && spec.ready === null;
	// A log line that was printed long ago would not be found again; other conditions can still be
	// checked.
	const readyAtOnce = run.ready || (adopted && !bySign);
	const stopWatching = readyAtOnce || bySign ? () => {} : watchReady(spec, onReady);
	const startWatch =
		readyAtOnce || spec.kind !== "session"
			? NO_START_WATCH
			: watchStart(
					world,
					spec,
					run,
					() => attendant?.known ?? null,
					(afterMs, screen) => news.onStartTimeout?.(afterMs, screen),
				);
	const startedAtMs = run.handle?.startedAtMs ?? 0;
	const upMs = run.startedSteadyMs === null ? clock.now().wallMs - startedAtMs : 0;
	const leftMs = Math.max(0, spec.crashPolicy.windowMs - upMs);
	const stopSettling = scheduleLong(clock, leftMs, onLasted);

	/** A run that is not ready after a whole window has not recovered yet. */
	function onLasted(): void {
		lasted = true;
		if (!startWatch.isPending()) onStable();
	}

	return {
		known: () => attendant?.known ?? null,
		readyAtOnce,
		stop() {
			stopWatching();
			stopSettling();
			startWatch.stop();
			attendant?.stop();
		},
	};
}

function attend(
	{ clock, sessions, store, inbox, drafts, people, accounts, onError }: LifeWorld,
	spec: SessionSpec | WorkerSpec,
	run: Run,
	isAdopted: boolean,
	{ onConversation = () => {}, onRestart = () => {} }: RunNews,
	onReady: () => void,
): Attendant | null {
	const { handle, backend, runId } = run;
	if (spec.kind !== "session" || handle === null || backend === null) return null;
	if (!isAttended(sessions.adapterOf(spec))) return null;
	if (!isAdopted) drafts.forget(spec.id);
	return new Attendant({
		...{ spec, runId, backend, handle, sessions, clock, inbox, drafts, people, accounts },
		...{ onConversation, onRestart },
		conversation: () => run.conversation?.id ?? null,
		isResumed: run.conversation?.mode === "resume",
		...{ isAdopted, wasReady: run.ready },
		note: (events: readonly NewEvent[]) =>
			store.commit((transaction) => {
				for (const event of events) transaction.appendEvent(event, clock.now().wallMs);
			}),
		onReady: () => (spec.ready === null ? onReady() : undefined),
		onError: (error) => onError(spec.id, error),
	});
}
