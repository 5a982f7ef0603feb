/**
 * Streams that survive a lost connection. When the daemon goes away, a followed stream waits for it and
 * continues at the same position, without gaps or duplicates (A3).
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorCode, ReeveError } from "../core/errors.js";

/** How a followed stream is connected; passed to `onConnection`. */
export type ConnectionChange =
	| {
			readonly state: "lost";
			/** The reason, as text. */
			readonly reason: string;
			/** How long the client will try to reconnect. */
			readonly reconnectForMs: number;
	  }
	| {
			readonly state: "restored";
			readonly downMs: number;
			/** Whether output was discarded before the stream could continue. Never for events. */
			readonly gap: boolean;
	  };

/** Options of every stream. */
export interface StreamOptions {
	/** Ends the stream without an error. */
	readonly signal?: AbortSignal | undefined;
	/** How long to wait for a daemon that disappeared, 60 seconds by default; 0 turns reconnecting off. */
	readonly reconnectForMs?: number | undefined;
	/** Called when a followed stream loses its connection and when it has reconnected. */
	readonly onConnection?: ((change: ConnectionChange) => void) | undefined;
}

/** One connection: its items, and whether something before them is missing. */
export interface Opened<Item> {
	readonly items: AsyncIterable<Item>;
	readonly gap: boolean;
}

const RECONNECT_MS = 60_000;
const DELAY_MS_MIN = 200;
const DELAY_MS_MAX = 3_000;
/** A connection that lasts this long proves that the daemon is back. */
const STABLE_MS = 5_000;

/** Temporary failures, which end when the daemon is back. Others, such as a revoked token, are permanent. */
const PASSING: readonly ErrorCode[] = [
	"connection_lost",
	"no_daemon",
	"timeout",
	"store_unavailable",
	"not_ready",
];

/**
 * The items of consecutive connections. The first connection must succeed. `open` must continue after
 * the last item that was passed on.
 */
export async function* reopening<Item>(
	open: () => Promise<Opened<Item>>,
	{ signal, reconnectForMs = RECONNECT_MS, onConnection }: StreamOptions,
): AsyncGenerator<Item> {
	let opened = await open();
	let trouble = newTrouble();
	for (;;) {
		const openedAtMs = performance.now();
		let cause: ReeveError;
		try {
			yield* opened.items;
			cause = new ReeveError("connection_lost", "the daemon closed the connection");
		} catch (error) {
			cause = passing(error);
		}
		if (signal?.aborted) return;
		if (reconnectForMs === 0) throw cause;
		if (performance.now() - openedAtMs >= STABLE_MS) trouble = newTrouble();
		onConnection?.({ state: "lost", reason: cause.message, reconnectForMs });
		const lostAtMs = performance.now();
		opened = await retry(open, cause, trouble, reconnectForMs, signal);
		const downMs = Math.round(performance.now() - lostAtMs);
		onConnection?.({ state: "restored", downMs, gap: opened.gap });
	}
}

/** Since when connections fail or break immediately, and the delay before the next one. */
interface Trouble {
	sinceMs: number | null;
	delayMs: number;
}

function newTrouble(): Trouble {
	return { sinceMs: null, delayMs: DELAY_MS_MIN };
}

async function retry<Item>(
	open: () => Promise<Opened<Item>>,
	cause: ReeveError,
	trouble: Trouble,
	reconnectForMs: number,
	signal: AbortSignal | undefined,
): Promise<Opened<Item>> {
	trouble.sinceMs ??= performance.now();
	let last = cause;
	while (performance.now() - trouble.sinceMs < reconnectForMs) {
		await sleep(trouble.delayMs, undefined, { signal });
		trouble.delayMs = Math.min(DELAY_MS_MAX, trouble.delayMs * 2);
		try {
			return await open();
		} catch (error) {
			if (signal?.aborted) throw error;
			last = passing(error);
		}
	}
	throw last;
}

function passing(error: unknown): ReeveError {
	if (error instanceof ReeveError && PASSING.includes(error.code)) return error;
	throw error;
}

/** Ends without an error when the signal aborts, whatever exception that causes. */
export async function* untilAborted<Item>(
	items: AsyncIterable<Item>,
	signal: AbortSignal | undefined,
): AsyncGenerator<Item> {
	try {
		if (!signal?.aborted) yield* items;
	} catch (error) {
		if (!signal?.aborted) throw error;
	}
}
