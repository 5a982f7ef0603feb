/**
 * The series of all agents, read from the event log when a client asks. The first request reads the events of the time
 * window a page at a time; later ones only new events. Forgotten when no client has asked for a while.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import {
	type AgentHistory,
	addToHistory,
	cutHistory,
	forgetBefore,
	HISTORY_TYPES,
	newHistory,
} from "../core/history.js";
import type { AgentView } from "../engine/agent-view.js";
import type { Store } from "../ports/store.js";
import type { AgentHistoryJson } from "./contract/history.js";

const PAGE = 500;
const FORGET_AFTER_MS = 300_000;

interface Kept {
	/** The longest window that was asked for. */
	readonly spanMs: number;
	readonly fromMs: number;
	seq: number;
	readonly agents: Map<string, AgentHistory>;
}

export interface HistoryReader {
	/** The series of these agents, and whether all events of the window are still stored. */
	read(
		agents: readonly AgentView[],
		fromMs: number,
		toMs: number,
	): Promise<{ readonly complete: boolean; readonly agents: readonly AgentHistoryJson[] }>;
}

export function createHistoryReader(store: Store): HistoryReader {
	let kept: Kept | null = null;
	let reading: Promise<unknown> = Promise.resolve();
	let forget: NodeJS.Timeout | undefined;

	async function catchUp(fromMs: number, toMs: number): Promise<Kept> {
		const spanMs = toMs - fromMs;
		const isPruned = kept !== null && kept.seq + 1 < store.firstSeq();
		if (kept === null || kept.spanMs < spanMs || isPruned) {
			kept = { spanMs, fromMs, seq: store.seqAt(fromMs) - 1, agents: new Map() };
		}
		const now = kept;
		for (;;) {
			const page = store.readEvents({ afterSeq: now.seq, limit: PAGE, types: HISTORY_TYPES });
			const isLast = page.length < PAGE;
			for (const event of page) {
				if (event.agent === undefined) continue;
				const history = now.agents.get(event.agent) ?? newHistory();
				now.agents.set(event.agent, history);
				addToHistory(history, event, { atMs: Date.parse(event.at), fromMs: now.fromMs });
			}
			now.seq = isLast ? Math.max(now.seq, store.lastSeq()) : (page.at(-1)?.seq ?? now.seq);
			if (isLast) break;
			await nextTurn();
		}
		for (const history of now.agents.values()) forgetBefore(history, toMs - now.spanMs);
		return now;
	}

	return {
		async read(agents, fromMs, toMs) {
			clearTimeout(forget);
			const turn = reading.then(() => catchUp(fromMs, toMs));
			reading = turn.catch(() => {});
			const now = await turn;
			forget = setTimeout(() => {
				kept = null;
			}, FORGET_AFTER_MS).unref();
			return {
				complete: isComplete(store, fromMs),
				agents: agents.map((view) => render(view, now.agents.get(view.agent.id), fromMs, toMs)),
			};
		},
	};
}

function isComplete(store: Store, fromMs: number): boolean {
	const first = store.firstSeq();
	if (first <= 1) return true;
	const [oldest] = store.readEvents({ afterSeq: first - 1, limit: 1 });
	return oldest !== undefined && Date.parse(oldest.at) <= fromMs;
}

const seconds = (ms: number) => Math.round(ms / 1_000);

function render(
	view: AgentView,
	history: AgentHistory | undefined,
	fromMs: number,
	toMs: number,
): AgentHistoryJson {
	const { runs, work, waits, restarts } = cutHistory(history ?? newHistory(), fromMs, toMs);
	const startedAtMs = view.gone === null ? (view.run?.handle?.startedAtMs ?? null) : null;
	const { known } = view;
	// Busy since before the window, without an event in it.
	const isBusy = history === undefined && known?.activity === "busy";
	return {
		id: view.agent.id,
		runs: [
			...runs.map(
				({ startMs, endMs, cause, class: exitClass }) =>
					[seconds(startMs), endMs === null ? null : seconds(endMs), cause, exitClass] as const,
			),
			...(startedAtMs === null ? [] : [[seconds(startedAtMs), null, null, null] as const]),
		],
		work: [
			...work.map(({ startMs, endMs }) => [seconds(startMs), seconds(endMs)] as const),
			...(isBusy ? [[seconds(Math.max(fromMs, known.atMs)), seconds(toMs)] as const] : []),
		],
		waits: waits.map(
			({ startMs, endMs, kind }) => [seconds(startMs), seconds(endMs), kind] as const,
		),
		restarts,
	};
}
