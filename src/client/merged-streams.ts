/** Streams of several daemons as one. */

import type { ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import type { LiveResources } from "../http/contract/streams.js";
import type { Client } from "./client.js";
import type { EventOptions, MergedLine } from "./streams.js";

/** The lines of several hosts: stored ones by time, new ones as they arrive. Each host keeps its order. */
export async function* mergeLines(
	streams: readonly AsyncGenerator<MergedLine>[],
	follow: boolean,
): AsyncGenerator<MergedLine> {
	const pending = new Map(streams.map((stream) => [stream, nextOf(stream)] as const));
	try {
		while (pending.size > 0) {
			const waiting = [...pending.values()];
			const heads = follow ? [await Promise.race(waiting)] : await Promise.all(waiting);
			const ended = heads.filter(({ result }) => result.done === true);
			for (const { stream } of ended) pending.delete(stream);
			const lines = heads.flatMap(({ stream, result }) =>
				result.done === true ? [] : [{ stream, line: result.value }],
			);
			const [first, ...others] = lines;
			if (first === undefined) continue;
			const next = others.reduce((a, b) => (b.line.at < a.line.at ? b : a), first);
			pending.set(next.stream, nextOf(next.stream));
			yield next.line;
		}
	} finally {
		await Promise.allSettled(streams.map((stream) => stream.return(undefined)));
	}
}

async function nextOf(stream: AsyncGenerator<MergedLine>) {
	return { stream, result: await stream.next() };
}

export interface EventSources {
	readonly own: Client;
	/** The names of the remotes. */
	readonly remotes: readonly string[];
	readonly clientOf: (remote: string) => Client;
	readonly onSilent: (remote: string, error: ReeveError) => void;
}

const QUEUED_MAX = 1_000;
const QUEUE_POLL_MS = 20;
const RETRY_MS = 3_000;

/**
 * The new events of all daemons, each in its own order. Those of remotes begin now, since `after` is a
 * number of this daemon. A remote that is lost is reported and followed again when it answers.
 */
export async function* mergeEvents(
	{ own, remotes, clientOf, onSilent }: EventSources,
	options: EventOptions,
): AsyncGenerator<ReeveEvent> {
	const over = new AbortController();
	const signal = options.signal ? AbortSignal.any([options.signal, over.signal]) : over.signal;
	const queue = new EventQueue(signal);
	const onResources = mergeReadings(options.onResources);
	const followOwn = async () => {
		const mine = { ...options, signal, onResources: onResources?.(null) };
		for await (const event of own.events(mine)) await queue.push(event);
	};
	const followRemote = async (remote: string) => {
		let after: number | null = null;
		let isReported = false;
		while (!signal.aborted) {
			try {
				const client = clientOf(remote);
				after ??= (await client.call("GET /api/v1/agents", { signal })).seq ?? 0;
				for await (const event of client.events({
					...{ after, type: options.type, follow: true, reconnectForMs: 0, signal },
					onResources: onResources?.(remote),
				})) {
					after = event.seq;
					await queue.push(event);
				}
			} catch (error) {
				if (signal.aborted) return;
				// Later this daemon's own events report it.
				if (!isReported) onSilent(remote, error as ReeveError);
				isReported = true;
			}
			await delay(RETRY_MS, signal);
		}
	};
	followOwn().then(
		() => queue.end(null),
		(error: unknown) => queue.end({ error }),
	);
	for (const remote of remotes) void followRemote(remote);
	try {
		yield* queue.read();
	} finally {
		over.abort();
	}
}

/** Events in the order of their arrival. */
class EventQueue {
	readonly #signal: AbortSignal;
	readonly #events: ReeveEvent[] = [];
	#isOver = false;
	#failure: { readonly error: unknown } | null = null;
	#wake = () => {};

	constructor(signal: AbortSignal) {
		this.#signal = signal;
	}

	/** A slow reader slows the streams down instead of filling the memory. */
	async push(event: ReeveEvent): Promise<void> {
		this.#events.push(event);
		this.#wake();
		while (this.#events.length >= QUEUED_MAX && !this.#signal.aborted) {
			await delay(QUEUE_POLL_MS, this.#signal);
		}
	}

	end(failure: { readonly error: unknown } | null): void {
		this.#isOver = true;
		this.#failure = failure;
		this.#wake();
	}

	async *read(): AsyncGenerator<ReeveEvent> {
		for (;;) {
			const event = this.#events.shift();
			if (event !== undefined) yield event;
			else if (this.#failure !== null) throw this.#failure.error;
			else if (this.#isOver) return;
			else {
				await new Promise<void>((resolve) => {
					this.#wake = resolve;
				});
			}
		}
	}
}

/** The last readings of each host, which a listener gets together. */
function mergeReadings(onResources: EventOptions["onResources"]) {
	if (onResources === undefined) return undefined;
	const readings = new Map<string | null, LiveResources["agents"]>();
	return (host: string | null) =>
		({ agents }: LiveResources) => {
			readings.set(host, agents);
			onResources({ agents: Object.assign({}, ...readings.values()) });
		};
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const timer = setTimeout(done, ms);
		function done(): void {
			clearTimeout(timer);
			signal.removeEventListener("abort", done);
			resolve();
		}
		if (signal.aborted) done();
		else signal.addEventListener("abort", done);
	});
}
