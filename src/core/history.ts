/**
 * The recent past of an agent as compact series, folded from its events in order: runs, times of work, and
 * waits. All series are bounded (A6): short gaps are closed, and more of them the more there are.
 */

import type { ReeveEvent } from "./events.js";
import type { ExitCause } from "./exit.js";

/** The events that change a series. */
export const HISTORY_TYPES = [
	"agent.activity",
	"agent.started",
	"agent.exited",
	"agent.decided",
	"agent.desired",
	"agent.answered",
	"agent.removed",
	"task.changed",
] as const satisfies readonly ReeveEvent["type"][];

export const WAIT_KINDS = ["input", "limit", "restart"] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

export interface PastRun {
	readonly startMs: number;
	/** Null while it runs. */
	readonly endMs: number | null;
	readonly cause: ExitCause | null;
	readonly class: "clean" | "transient" | "flapping" | null;
}

interface Span {
	readonly startMs: number;
	readonly endMs: number;
}

interface Wait extends Span {
	readonly kind: WaitKind;
}

/** The series of one agent; `addToHistory` changes it. */
export interface AgentHistory {
	runs: PastRun[];
	work: Span[];
	waits: Wait[];
	restarts: number[];
	/** Since when it is busy; null if it is not. */
	busySinceMs: number | null;
	wait: { readonly sinceMs: number; readonly kind: WaitKind } | null;
	/** Gaps below this are closed. */
	gapMs: number;
	/** Whether its activity before the first event is still unknown. */
	isNew: boolean;
}

const GAP_MS = 15_000;
const SPANS_MAX = 300;
const RUNS_MAX = 500;

export function newHistory(): AgentHistory {
	return {
		runs: [],
		work: [],
		waits: [],
		restarts: [],
		busySinceMs: null,
		wait: null,
		gapMs: GAP_MS,
		isNew: true,
	};
}

/** Adds the next event of an agent, by the time of the event. `fromMs` is where the series start. */
export function addToHistory(
	history: AgentHistory,
	event: ReeveEvent,
	{ atMs, fromMs }: { readonly atMs: number; readonly fromMs: number },
): void {
	switch (event.type) {
		case "agent.activity": {
			const { from, to } = event.data;
			if (history.isNew && from === "busy") history.busySinceMs = fromMs;
			history.isNew = false;
			endWork(history, atMs);
			endWait(history, atMs);
			if (to === "busy") history.busySinceMs = atMs;
			if (to === "waiting_input") history.wait = { sinceMs: atMs, kind: "input" };
			if (to === "rate_limited") history.wait = { sinceMs: atMs, kind: "limit" };
			return;
		}
		case "agent.started":
		case "agent.answered":
		case "agent.desired":
		case "agent.removed":
			endWait(history, atMs);
			if (event.type === "agent.started") history.isNew = false;
			return;
		case "agent.exited": {
			endWork(history, atMs);
			endWait(history, atMs);
			const { cause, class: exitClass, uptime_ms: uptimeMs } = event.data;
			const run = { startMs: atMs - uptimeMs, endMs: atMs, cause, class: exitClass };
			history.runs.push(run);
			if (history.runs.length > RUNS_MAX) history.runs.shift();
			return;
		}
		case "agent.decided": {
			const { action } = event.data;
			if (action === "restart") history.restarts.push(atMs);
			const kind = WAIT_AFTER[action];
			if (kind !== undefined) history.wait = { sinceMs: atMs, kind };
			return;
		}
		case "task.changed": {
			const { duration_ms: durationMs } = event.data;
			if (durationMs !== null) addSpan(history, { startMs: atMs - durationMs, endMs: atMs });
			return;
		}
		default:
			return;
	}
}

const WAIT_AFTER: Readonly<Partial<Record<string, WaitKind>>> = {
	restart: "restart",
	park: "limit",
	ask_operator: "input",
};

function endWork(history: AgentHistory, atMs: number): void {
	if (history.busySinceMs !== null) addSpan(history, { startMs: history.busySinceMs, endMs: atMs });
	history.busySinceMs = null;
}

function endWait(history: AgentHistory, atMs: number): void {
	const { wait } = history;
	if (wait === null) return;
	history.wait = null;
	if (atMs - wait.sinceMs < 1_000) return;
	history.waits.push({ startMs: wait.sinceMs, endMs: atMs, kind: wait.kind });
	if (history.waits.length > SPANS_MAX) history.waits.shift();
}

/** Spans arrive in the order of their end; concurrent tasks overlap. */
function addSpan(history: AgentHistory, span: Span): void {
	const { work } = history;
	joinSpan(work, span, history.gapMs);
	while (work.length > SPANS_MAX) {
		history.gapMs *= 2;
		const joined: Span[] = [];
		for (const each of work) joinSpan(joined, each, history.gapMs);
		work.splice(0, work.length, ...joined);
	}
}

function joinSpan(spans: Span[], span: Span, gapMs: number): void {
	let { startMs, endMs } = span;
	for (let last = spans.at(-1); last !== undefined && startMs - last.endMs < gapMs; ) {
		startMs = Math.min(startMs, last.startMs);
		endMs = Math.max(endMs, last.endMs);
		spans.pop();
		last = spans.at(-1);
	}
	spans.push({ startMs, endMs });
}

/** The part of a history that is in a time window; what is open lasts until its end. */
export function cutHistory(history: AgentHistory, fromMs: number, toMs: number) {
	const inside = ({ endMs }: { readonly endMs: number | null }) => endMs === null || endMs > fromMs;
	const { busySinceMs, wait } = history;
	const work = [...history.work];
	if (busySinceMs !== null) joinSpan(work, { startMs: busySinceMs, endMs: toMs }, history.gapMs);
	const waits = [
		...history.waits,
		...(wait === null ? [] : [{ startMs: wait.sinceMs, endMs: toMs, kind: wait.kind }]),
	];
	return {
		runs: history.runs.filter(inside),
		work: work.filter(inside),
		waits: waits.filter(inside),
		restarts: history.restarts.filter((atMs) => atMs >= fromMs).length,
	};
}

/** Forgets runs and waits that ended before this time. */
export function forgetBefore(history: AgentHistory, fromMs: number): void {
	const isKept = ({ endMs }: { readonly endMs: number | null }) => endMs === null || endMs > fromMs;
	history.runs = history.runs.filter(isKept);
	history.work = history.work.filter(isKept);
	history.waits = history.waits.filter(isKept);
	history.restarts = history.restarts.filter((atMs) => atMs >= fromMs);
}
