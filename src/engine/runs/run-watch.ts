/** Watches a live run: whether it is ready, whether it is stable, and its activity. */

import type { AgentSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import type { NewEvent } from "../../ports/store.js";
import { Attendant, isAttended } from "../attending/attendant.js";
import { scheduleLong } from "../waiting.js";
import type { LiveRun } from "./agent-state.js";
import type { LifeWorld } from "./life-world.js";
import { NO_START_WATCH, watchStart } from "./start-watch.js";

/** The callbacks for observed changes. */
export interface RunNews {
	readonly onReady: (afterMs: number) => void;
	readonly onStable: () => void;
	readonly onConversation: (id: string) => void;
	readonly onRestart: () => void;
	readonly onStartTimeout: (afterMs: number, screen: readonly string[]) => void;
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
	spec: AgentSpec,
	live: LiveRun,
	adopted: boolean,
	news: RunNews,
): RunWatch {
	const { clock, watchReady } = world;
	const sinceMs = clock.now().steadyMs;
	let lasted = false;
	const onReady = () => {
		news.onReady(clock.now().steadyMs - sinceMs);
		if (lasted) news.onStable();
	};
	const attendant = attend(world, spec, live, adopted, news, onReady);
	const bySign = spec.kind === "session" && attendant !== null && spec.ready === null;
	// A log line that was printed long ago would not be found again; other conditions can still be
	// checked.
	const readyAtOnce = live.ready || (adopted && !bySign);
	const stopWatching = readyAtOnce || bySign ? () => {} : watchReady(spec, onReady);
	const startWatch =
		readyAtOnce || spec.kind !== "session"
			? NO_START_WATCH
			: watchStart(world, spec, live, () => attendant?.known ?? null, news.onStartTimeout);
	const stopSettling = spec.kind === "call" ? () => {} : watchStable();

	function watchStable(): () => void {
		const { windowMs } = (spec as Exclude<AgentSpec, { kind: "call" }>).crashPolicy;
		const startedAtMs = live.handle?.startedAtMs ?? 0;
		const upMs = live.startedSteadyMs === null ? clock.now().wallMs - startedAtMs : 0;
		return scheduleLong(clock, Math.max(0, windowMs - upMs), onLasted);
	}

	/** A run that is not ready after a whole window has not recovered yet. */
	function onLasted(): void {
		lasted = true;
		if (!startWatch.isPending()) news.onStable();
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
	{ clock, sessions, store, inbox, drafts, accounts, onError }: LifeWorld,
	spec: AgentSpec,
	live: LiveRun,
	isAdopted: boolean,
	{ onConversation, onRestart }: RunNews,
	onReady: () => void,
): Attendant | null {
	const { handle, backend, runId } = live;
	if (spec.kind !== "session" || handle === null) return null;
	if (!isAttended(sessions.adapterOf(spec))) return null;
	if (!isAdopted) drafts.forget(spec.id);
	return new Attendant({
		...{ spec, runId, backend, handle, sessions, clock, inbox, drafts, accounts },
		...{ onConversation, onRestart },
		conversation: () => live.conversation?.id ?? null,
		isResumed: live.conversation?.mode === "resume",
		...{ isAdopted, wasReady: live.ready },
		note: (events: readonly NewEvent[]) =>
			store.commit((transaction) => {
				for (const event of events) transaction.appendEvent(event, clock.now().wallMs);
			}),
		onReady: () => (spec.ready === null ? onReady() : undefined),
		onError: (error) => onError(spec.id, error),
	});
}
