/** Events as a stream: what is stored first, then, for who follows, each as it is committed. */

import type { ServerResponse } from "node:http";
import { ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import type { Store } from "../ports/store.js";
import type { Routes } from "./contract/routes.js";

const PAGE = 500;
/** A reader that lets this much pile up is cut off; it can resume from the last id it saw (A6). */
const BEHIND_BYTES_MAX = 4 * 1_048_576;
const HEARTBEAT_MS = 15_000;

export async function streamEvents(
	store: Store,
	{ after, agent, follow }: Routes["GET /api/v1/events"]["query"],
	response: ServerResponse,
	gone: AbortSignal,
): Promise<void> {
	refusePruned(store, after);
	response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
	let afterSeq = after;
	const write = (event: ReeveEvent) => {
		response.write(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
	};

	/** Everything that is stored after the last event sent. */
	function catchUp(): void {
		for (;;) {
			const events = store.readEvents({
				afterSeq,
				limit: PAGE,
				...(agent !== undefined && { agent }),
			});
			for (const event of events) write(event);
			afterSeq = events.at(-1)?.seq ?? afterSeq;
			if (events.length < PAGE || response.writableLength > BEHIND_BYTES_MAX) return;
		}
	}

	catchUp();
	if (follow !== "1") {
		response.end();
		return;
	}
	const stop = store.onCommit(() => {
		// One that is so far behind that what it needs next is gone is told when it comes again.
		if (isPruned(store, afterSeq)) response.destroy();
		else catchUp();
		if (response.writableLength > BEHIND_BYTES_MAX) response.destroy();
	});
	const heartbeat = setInterval(() => response.write(": still here\n\n"), HEARTBEAT_MS);
	await new Promise<void>((resolve) => {
		gone.addEventListener("abort", () => resolve());
		if (gone.aborted) resolve();
	});
	stop();
	clearInterval(heartbeat);
	response.end();
}

/** Whether what follows this number is no longer there. From 0 on means: from where there is something. */
const isPruned = (store: Store, afterSeq: number) =>
	afterSeq > 0 && afterSeq + 1 < store.firstSeq();

/** Whoever resumes counts on the very next event (A3). */
function refusePruned(store: Store, after: number): void {
	if (!isPruned(store, after)) return;
	const first = store.firstSeq();
	throw new ReeveError(
		"events_pruned",
		`the events after ${after} are no longer kept; the oldest is ${first}`,
		`\`--after ${first - 1}\` gives everything that there is; what came before is lost.`,
	);
}
