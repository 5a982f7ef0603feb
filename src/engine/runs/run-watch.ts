/** Watches a run: whether it is ready, whether it is stable, and its activity. */

import type { SessionSpec, WorkerSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import type { HibernationView } from "../../core/hibernation.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent } from "../../ports/store.js";
import { Attendant, isAttended } from "../attending/attendant.js";
import { scheduleLong } from "../waiting.js";
import { type HealthView, NO_HEALTH_WATCH, watchHealth } from "./health-watch.js";
import {
	type HibernationWatch,
	NO_HIBERNATION,
	type OnHibernate,
	watchHibernation,
} from "./hibernation-watch.js";
import type { LifeWorld } from "./life-world.js";
import type { Run, SessionRun } from "./run.js";
import { NO_START_WATCH, watchStart } from "./start-watch.js";

/** The callbacks for observed changes. */
export interface RunListener {
	readonly onReady: (afterMs: number) => void;
	readonly onStable: () => void;
	/** The others are reported for sessions only. */
	readonly onConversation?: (id: string) => void;
	readonly onRestart?: () => void;
	readonly onHibernate?: OnHibernate;
	/** It is unhealthy, and may be restarted now. */
	readonly onUnhealthy?: (detail: string) => void;
	readonly onStartTimeout?: (afterMs: number, screen: readonly string[]) => void;
}

export interface RunWatch {
	/** The agent's activity; null if unknown. */
	readonly known: () => KnownActivity | null;
	/** The checks of its health; null without any. */
	readonly health: () => HealthView | null;
	/** Why it does not hibernate yet; null if it never does. */
	readonly hibernation: () => HibernationView | null;
	/** Whether it counts as ready without a check: it was ready before, or a check would find nothing. */
	readonly readyAtOnce: boolean;
	stop(): void;
}

/** Whether a session counts as ready as soon as it runs: no condition is set, and its CLI reports nothing. */
export function isReadyByStart({ sessions }: LifeWorld, spec: SessionSpec | WorkerSpec): boolean {
	return spec.kind === "session" && spec.ready === null && !isAttended(sessions.adapterOf(spec));
}

export function watchRun(
	world: LifeWorld,
	spec: SessionSpec | WorkerSpec,
	run: Run,
	adopted: boolean,
	news: RunListener,
): RunWatch {
	const { clock, watchReady } = world;
	const upMs = uptimeOf(run, clock);
	const sinceMs = clock.now().steadyMs - upMs;
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
	let readyAtOnce = run.ready;
	const hibernation =
		spec.kind === "session" && isSessionRun(run)
			? watchHibernation(
					world,
					spec,
					run,
					() => run.ready || readyAtOnce,
					news.onHibernate ?? (async () => {}),
				)
			: NO_HIBERNATION;
	const attendant = attend(world, spec, run, adopted, news, onReady, hibernation);
	const bySign = spec.kind === "session" && attendant !== null && spec.ready === null;
	// Adoption proves that it runs, not that its condition is met.
	readyAtOnce = run.ready || (adopted && !bySign && spec.ready === null);
	const begun = { outputFrom: run.handle?.outputFrom ?? 0, upMs };
	const stopWatching = readyAtOnce || bySign ? () => {} : watchReady(spec, begun, onReady);
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
	const leftMs = Math.max(0, spec.crashPolicy.windowMs - upMs);
	const stopSettling = scheduleLong(clock, leftMs, onLasted);

	const healthWatch =
		spec.kind !== "session"
			? NO_HEALTH_WATCH
			: watchHealth(spec, {
					...world,
					look: () => ({
						isReady: run.ready || readyAtOnce,
						upMs: clock.now().steadyMs - sinceMs,
						activity: attendant?.known.activity ?? null,
						isDelivering: (world.inbox.head(spec.id)?.phase ?? "queued") !== "queued",
					}),
					note: (event) =>
						world.store.commit((transaction) =>
							transaction.appendEvent({ ...event, run_id: run.runId }, clock.now().wallMs),
						),
					onRestart: (detail) => news.onUnhealthy?.(detail),
					onError: (error) => world.onError(spec.id, error),
				});

	/** A run that is not ready after a whole window has not recovered yet. */
	function onLasted(): void {
		lasted = true;
		if (!startWatch.isPending()) onStable();
	}

	return {
		known: () => attendant?.known ?? null,
		health: healthWatch.view,
		hibernation: () => (attendant === null ? unseen(spec, hibernation) : hibernation.view()),
		readyAtOnce,
		stop() {
			stopWatching();
			stopSettling();
			startWatch.stop();
			healthWatch.stop();
			attendant?.stop();
		},
	};
}

const isSessionRun = (run: Run): run is SessionRun => run.backend !== null;

/** An agent that nothing observes: its activity stays unknown. */
function unseen(
	spec: SessionSpec | WorkerSpec,
	hibernation: HibernationWatch,
): HibernationView | null {
	if (spec.kind !== "session" || hibernation === NO_HIBERNATION) return null;
	return { reason: "its activity is unknown", idleMs: 0 };
}

/** The uptime of an adopted run is measured in wall time, because this daemon did not see it start. */
function uptimeOf({ startedSteadyMs, handle }: Run, clock: Clock): number {
	const { steadyMs, wallMs } = clock.now();
	if (startedSteadyMs !== null) return steadyMs - startedSteadyMs;
	return handle === null ? 0 : Math.max(0, wallMs - handle.startedAtMs);
}

function attend(
	{ clock, sessions, store, inbox, drafts, viewers, people, accounts, onError }: LifeWorld,
	spec: SessionSpec | WorkerSpec,
	run: Run,
	isAdopted: boolean,
	{ onConversation = () => {}, onRestart = () => {} }: RunListener,
	onReady: () => void,
	hibernation: HibernationWatch,
): Attendant | null {
	const { handle, backend, runId } = run;
	if (spec.kind !== "session" || handle === null || backend === null) return null;
	if (!isAttended(sessions.adapterOf(spec))) return null;
	if (!isAdopted) drafts.started(spec.id);
	viewers.forget(spec.id);
	return new Attendant({
		...{ spec, runId, backend, handle, sessions, clock, inbox, drafts, people, accounts },
		...{ onConversation, onRestart },
		isEnding: () => run.askedBy !== null || run.failing !== null || run.gone !== null,
		onLooked: hibernation.look,
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
