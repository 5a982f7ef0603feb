/**
 * Streams events to any number of readers. A reader that keeps up gets each commit immediately, encoded
 * once for all readers; a slow one gets nothing more until it has read everything that was sent, and
 * then continues from the store, one page at a time. So a slow reader costs one page of memory and does
 * not affect others (A6), and none misses or repeats an event (A3). A reader that reads nothing at all
 * is disconnected: it can reconnect with the last id it received.
 */

import type { Writable } from "node:stream";
import { ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import type { Store } from "../ports/store.js";
import {
	createStreamOutput,
	STREAM_LIMITS,
	type StreamLimits,
	type StreamOutput,
} from "./stream-output.js";

const PAGE = 100;

export interface EventFilter {
	readonly agent?: string | undefined;
	readonly task?: string | undefined;
	readonly plan?: string | undefined;
	/** Types, or prefixes of types that end with a dot: `agent.`. */
	readonly types?: readonly string[] | undefined;
	readonly sinceMs?: number | undefined;
	/** Hides events of agents that the reader may not see, and events without an agent. */
	readonly sees?: ((agent: string | undefined) => boolean) | undefined;
}

export interface EventReaders {
	/** Throws if the events after this one were removed. */
	check(after: number): void;
	/** Sends stored events after this one, then new ones, until `gone` aborts. */
	follow(after: number, filter: EventFilter, to: Writable, gone: AbortSignal): Promise<void>;
	/** Sends stored events after this one, and ends. */
	replay(after: number, filter: EventFilter, to: Writable, gone: AbortSignal): Promise<void>;
}

export function createEventReaders(
	store: Store,
	limits: StreamLimits = STREAM_LIMITS,
): EventReaders {
	const live = new Set<(events: readonly ReeveEvent[]) => void>();
	let stopListening: (() => void) | null = null;

	/** One listener for all readers, and none while there is no reader. */
	function join(reader: (events: readonly ReeveEvent[]) => void): () => void {
		live.add(reader);
		stopListening ??= store.onCommit((events) => {
			for (const each of [...live]) each(events);
		});
		return () => {
			live.delete(reader);
			if (live.size > 0) return;
			stopListening?.();
			stopListening = null;
		};
	}

	/** Sends pages from the store up to this event; returns the last one that was checked. */
	async function send(from: number, to: number, filter: EventFilter, out: StreamOutput) {
		let seq = from;
		while (seq < to && !out.ended()) {
			refusePruned(store, seq);
			const page = store.readEvents({
				afterSeq: seq,
				limit: PAGE,
				...(filter.agent !== undefined && { agent: filter.agent }),
			});
			// A short page means that all events up to here were checked.
			seq = page.length < PAGE ? Math.max(to, page.at(-1)?.seq ?? 0) : (page.at(-1)?.seq ?? to);
			await out.write(
				page
					.filter((event) => matches(event, filter))
					.map(encode)
					.join(""),
			);
		}
		return seq;
	}

	return {
		check: (after) => refusePruned(store, after),
		async replay(after, filter, to, gone) {
			await send(after, store.lastSeq(), filter, createStreamOutput(to, gone, limits));
		},
		async follow(after, filter, to, gone) {
			const out = createStreamOutput(to, gone, limits);
			let seq = after;
			let wake = () => {};
			const leave = join((events) => {
				// Only a reader that has everything before them can get these directly, and never more than a page.
				const [first] = events;
				const isNext = first !== undefined && first.seq === seq + 1;
				if (out.busy() || !isNext || events.length > PAGE) return wake();
				seq = events.at(-1)?.seq ?? seq;
				const text = events.filter((event) => matches(event, filter)).map(encodeOnce);
				if (text.length > 0) out.write(text.join("")).catch(() => {});
			});
			const beat = setInterval(() => {
				// With its number, so that a reader with a filter resumes here and not at its last event.
				if (!out.busy()) out.write(`id: ${seq}\n: still here\n\n`).catch(() => {});
			}, limits.heartbeatMs);
			try {
				while (!out.ended()) {
					await out.drained();
					if (seq < store.lastSeq()) seq = await send(seq, store.lastSeq(), filter, out);
					// Events were committed during the wait: read from the store again.
					if (out.busy() || seq < store.lastSeq()) continue;
					await new Promise<void>((resolve) => {
						wake = resolve;
						out.whenOver(resolve);
					});
				}
			} finally {
				leave();
				clearInterval(beat);
			}
		},
	};
}

function encode(event: ReeveEvent): string {
	return `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The newest events, encoded once for all readers. */
const encoded = new WeakMap<ReeveEvent, string>();

function encodeOnce(event: ReeveEvent): string {
	const known = encoded.get(event);
	if (known !== undefined) return known;
	const text = encode(event);
	encoded.set(event, text);
	return text;
}

/** The filter of a request. */
export function filterOf(query: {
	readonly agent?: string | undefined;
	readonly task?: string | undefined;
	readonly plan?: string | undefined;
	readonly type?: string | undefined;
	readonly since?: string | undefined;
}): EventFilter {
	const { agent, task, plan, type, since } = query;
	const types = type?.split(",").filter((each) => each !== "");
	const sinceMs = since === undefined ? undefined : Date.parse(since);
	return { agent, task, plan, types, sinceMs };
}

export function matches(event: ReeveEvent, filter: EventFilter): boolean {
	const { agent, task, plan, types, sinceMs, sees } = filter;
	if (sees !== undefined && !sees(event.agent)) return false;
	if (agent !== undefined && event.agent !== agent) return false;
	if (task !== undefined && event.task !== task) return false;
	if (plan !== undefined && event.plan !== plan) return false;
	if (sinceMs !== undefined && Date.parse(event.at) < sinceMs) return false;
	return types?.some((type) => event.type === type || isGroup(type, event.type)) ?? true;
}

function isGroup(wanted: string, type: string): boolean {
	return wanted.endsWith(".") && type.startsWith(wanted);
}

/** Whether events after this number were removed. 0 means: from the oldest available one. */
const isPruned = (store: Store, afterSeq: number) =>
	afterSeq > 0 && afterSeq + 1 < store.firstSeq();

/** A reader that resumes relies on getting the very next event (A3). */
function refusePruned(store: Store, after: number): void {
	const newest = store.lastSeq();
	if (after > newest) {
		throw new ReeveError(
			"events_pruned",
			`there is no event ${after}: the newest is ${newest}, so the event history was replaced`,
			"Use `--after 0` to read the current history from its start.",
		);
	}
	if (!isPruned(store, after)) return;
	const first = store.firstSeq();
	throw new ReeveError(
		"events_pruned",
		`the events after ${after} were removed; the oldest is ${first}`,
		`Use \`--after ${first - 1}\` to read all remaining events.`,
	);
}
