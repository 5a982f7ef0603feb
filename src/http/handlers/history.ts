/** Handlers of history: runs, activity, usage and events of a time window. */

import type { ReeveEvent } from "../../core/events.js";
import type { NumberedExit, Store } from "../../ports/store.js";
import { isoTime, renderStoredExit, timeOrNull } from "../agent-json.js";
import { renderBudgets } from "../budgets-json.js";
import type { historyRoutes, RunJson } from "../contract/history.js";
import type { Routes } from "../contract/routes.js";
import { type EventFilter, filterOf, matches } from "../event-readers.js";
import type { Handlers, HttpParts } from "../handler.js";
import type { HistoryReader } from "../history-reader.js";

const HOUR_MS = 3_600_000;

export function createHistoryHandlers(parts: HttpParts): Handlers<keyof typeof historyRoutes> {
	const { engine, store, clock } = parts;
	let reader: HistoryReader | null = null;
	return {
		"GET /api/v1/history": async ({ query: { hours, project, agent }, sight }) => {
			reader ??= (await import("../history-reader.js")).createHistoryReader(store);
			const toMs = clock.now().wallMs;
			const fromMs = toMs - hours * HOUR_MS;
			const wanted = engine.list().filter(({ agent: { id, spec } }) => {
				const isAsked = (project ?? spec.project) === spec.project && (agent ?? id) === id;
				return isAsked && (sight?.sees(id) ?? true);
			});
			const [from, to] = [Math.floor(fromMs / 1_000), Math.ceil(toMs / 1_000)];
			return { from, to, ...(await reader.read(wanted, fromMs, toMs)) };
		},
		"GET /api/v1/agents/:id/runs": ({ params, query }) => listRuns(parts, params.id, query),
		"GET /api/v1/usage": ({ query, sight }) => {
			const { today, accounts, daysOf } = engine.usage();
			const oldest = dayBefore(today, query.days - 1);
			const isVisible = (id: string) => sight?.sees(id) ?? true;
			const accountOf = new Map(
				accounts.flatMap(({ account, agents }) => agents.map((id) => [id, account] as const)),
			);
			const rows = [...accountOf]
				.filter(([id]) => isVisible(id))
				.flatMap(([agent, account]) =>
					daysOf(agent)
						.filter(([day]) => day >= oldest)
						.map(([day, usage]) => ({
							day,
							agent,
							account,
							input: usage.input,
							output: usage.output,
							usd: usage.costUsd,
							cache_read: usage.cacheRead,
							cache_write: usage.cacheWrite,
						})),
				);
			return {
				today,
				days: rows.sort((a, b) => (a.day === b.day ? 0 : a.day < b.day ? 1 : -1)),
				accounts: accounts
					.map(({ account, agents, hold }) => ({
						account,
						agents: agents.filter(isVisible),
						limited: hold !== null,
						reason: hold?.reason ?? null,
						until: timeOrNull(hold?.untilMs ?? null),
					}))
					.filter(({ agents }) => agents.length > 0),
				budgets: renderBudgets(engine.list(), { today, daysOf }, accountOf, isVisible),
			};
		},
		"GET /api/v1/events/list": ({ query, sight }) =>
			listEvents(store, query, { ...filterOf(query), sees: sight?.sees }),
	};
}

/** `2031-04-05`, this many days earlier. */
function dayBefore(day: string, days: number): string {
	// A date without a time is read as UTC.
	const date = new Date(day);
	date.setUTCDate(date.getUTCDate() - days);
	return date.toISOString().slice(0, 10);
}

const DECISIONS_MAX = 1_000;

function listRuns(
	{ engine, store }: HttpParts,
	id: string,
	{ limit, before }: Routes["GET /api/v1/agents/:id/runs"]["query"],
): Routes["GET /api/v1/agents/:id/runs"]["reply"] {
	const { run, gone, process } = engine.get(id);
	const exits = store.readExitsBefore(id, before ?? Number.MAX_SAFE_INTEGER, limit + 1);
	const page = exits.slice(0, limit);
	const decisions = readDecisions(store, id, page);
	const isOpen = run !== null && gone === null && process !== "stopped" && before === undefined;
	const startedAtMs = run?.handle?.startedAtMs ?? null;
	const open: readonly RunJson[] = isOpen
		? [
				{
					number: null,
					run_id: run.runId,
					started_at: timeOrNull(startedAtMs),
					ended_at: null,
					uptime_ms: null,
					exit: null,
					decision: null,
				},
			]
		: [];
	const ended = page.map(
		({ number, exit }): RunJson => ({
			number,
			run_id: exit.runId,
			started_at: isoTime(exit.atMs - exit.uptimeMs),
			ended_at: isoTime(exit.atMs),
			uptime_ms: exit.uptimeMs,
			exit: renderStoredExit(exit),
			decision: decisions.get(exit.runId) ?? null,
		}),
	);
	const next = exits.length > limit ? (page.at(-1)?.number ?? null) : null;
	return { runs: [...open, ...ended], next };
}

/** The decisions after these exits, by run. */
function readDecisions(store: Store, agent: string, exits: readonly NumberedExit[]) {
	const oldestMs = Math.min(...exits.map(({ exit }) => exit.atMs));
	const found = new Map<string, NonNullable<RunJson["decision"]>>();
	if (exits.length === 0) return found;
	const events = store.readEvents({
		afterSeq: store.seqAt(oldestMs) - 1,
		limit: DECISIONS_MAX,
		agent,
		types: ["agent.decided"],
	});
	for (const event of events) {
		if (event.type !== "agent.decided" || event.run_id === undefined) continue;
		const { action, after_ms: delay, reason } = event.data;
		found.set(event.run_id, { action, delay_ms: delay, reason });
	}
	return found;
}

const PAGE = 500;
/** How many events one request checks, so that a rare match does not block the daemon. */
const CHECKED_MAX = 10_000;

function listEvents(
	store: Store,
	{ since, until, before, limit }: Routes["GET /api/v1/events/list"]["query"],
	filter: EventFilter,
): Routes["GET /api/v1/events/list"]["reply"] {
	const end = store.lastSeq() + 1;
	const untilSeq = until === undefined ? end : store.seqAt(Date.parse(until));
	const sinceSeq = since === undefined ? 1 : store.seqAt(Date.parse(since));
	const found: ReeveEvent[] = [];
	let seq = Math.min(before ?? end, untilSeq);
	for (let checked = 0; checked < CHECKED_MAX; checked += PAGE) {
		const agent = filter.agent === undefined ? {} : { agent: filter.agent };
		const page = store.readEventsBefore({ beforeSeq: seq, limit: PAGE, ...agent });
		for (const event of page) {
			if (event.seq < sinceSeq) return { events: found, next: null };
			seq = event.seq;
			if (matches(event, filter)) found.push(event);
			if (found.length === limit) return { events: found, next: seq };
		}
		if (page.length < PAGE) return { events: found, next: null };
	}
	return { events: found, next: seq };
}
