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

const PAGE = 100;
/** How long a reader may read nothing although there is data. */
const STALLED_MS_MAX = 60_000;
const HEARTBEAT_MS = 15_000;

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

export interface ReaderLimits {
	readonly stalledMsMax: number;
	readonly heartbeatMs: number;
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
	limits: ReaderLimits = { stalledMsMax: STALLED_MS_MAX, heartbeatMs: HEARTBEAT_MS },
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
	async function send(from: number, to: number, filter: EventFilter, out: Outlet) {
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
			await send(after, store.lastSeq(), filter, createOutlet(to, gone, limits));
		},
		async follow(after, filter, to, gone) {
			const out = createOutlet(to, gone, limits);
			let seq = after;
			let wake = () => {};
			const leave = join((events) => {
				// Only a reader that has everything before them can get these directly, and never more than a
				// page.
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

interface Outlet {
	/** Resolves when more can be written. */
	write(text: string): Promise<void>;
	drained(): Promise<void>;
	/** Whether written data has not been read yet. */
	busy(): boolean;
	ended(): boolean;
	/** Calls this, instead of any earlier callback, when the reader has gone. */
	whenOver(call: () => void): void;
}

/** A reader as an output. One that does not read for too long is disconnected. */
function createOutlet(to: Writable, gone: AbortSignal, { stalledMsMax }: ReaderLimits): Outlet {
	const ended = () => gone.aborted || to.destroyed;
	let draining: { readonly promise: Promise<void>; readonly done: () => void } | null = null;
	let onOver = () => {};
	const over = () => {
		draining?.done();
		onOver();
	};
	gone.addEventListener("abort", over, { once: true });
	to.once("close", over);

	function drain(): Promise<void> {
		if (draining !== null) return draining.promise;
		const stalled = setTimeout(() => to.destroy(), stalledMsMax);
		let resolve = () => {};
		const promise = new Promise<void>((each) => {
			resolve = each;
		});
		const done = () => {
			to.off("drain", done);
			clearTimeout(stalled);
			draining = null;
			resolve();
		};
		to.once("drain", done);
		draining = { promise, done };
		return promise;
	}

	return {
		ended,
		busy: () => draining !== null || to.writableNeedDrain,
		drained: async () => (draining !== null || to.writableNeedDrain ? drain() : undefined),
		async write(text) {
			if (text === "" || ended()) return;
			if (!to.write(text)) await drain();
		},
		whenOver(call) {
			onOver = call;
			if (ended()) call();
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

function matches(event: ReeveEvent, filter: EventFilter): boolean {
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
