/** Signals that tell handlers when nobody waits for their answer any more. */

import type { ServerResponse } from "node:http";
import { ReeveError } from "../core/errors.js";
import type { RouteName } from "./contract/routes.js";
import type { Asked } from "./handler.js";

/** How long a stream may take to end after its credential has become invalid. */
const DROP_MS_MAX = 1_000;

/** One for all: each reason of its own would collect a stack trace for every request. */
const NOT_WAITED_FOR = new ReeveError("connection_lost", "the caller stopped waiting");

/** What is told when a server ends, by the requests that are open. Cheaper than listeners of a signal. */
export type ClosingWatchers = Set<() => void>;

/**
 * The signals last as long as the response, and are made when a handler asks for them: add to what is returned, do not
 * copy it. They are not made with
 * `AbortSignal.any`: a source that lives as long as the daemon would remember each of them for ever.
 */
export function watchCaller(
	response: ServerResponse,
	invalid: AbortSignal | null,
	{ closing, watchers }: { readonly closing: AbortSignal; readonly watchers: ClosingWatchers },
): Pick<Asked<RouteName>, "dropped" | "gone"> {
	const dropped = createLateSignal();
	const gone = createLateSignal();
	const drop = () => {
		dropped.abort();
		gone.abort();
	};
	const end = () => {
		// The server that closes waits for its connections.
		response.shouldKeepAlive = false;
		gone.abort();
	};
	/** What a slow reader has not read by then, it does not get. */
	const dropInvalid = () => {
		drop();
		setTimeout(() => response.destroy(), DROP_MS_MAX).unref();
	};
	invalid?.addEventListener("abort", dropInvalid);
	watchers.add(end);
	response.on("close", () => {
		invalid?.removeEventListener("abort", dropInvalid);
		watchers.delete(end);
		drop();
	});
	if (closing.aborted) end();
	return {
		get dropped() {
			return dropped.signal();
		},
		get gone() {
			return gone.signal();
		},
	};
}

/** A signal that is made when it is first asked for: most handlers need none. */
function createLateSignal() {
	let controller: AbortController | null = null;
	let isAborted = false;
	return {
		signal(): AbortSignal {
			controller ??= new AbortController();
			if (isAborted) controller.abort(NOT_WAITED_FOR);
			return controller.signal;
		},
		abort(): void {
			isAborted = true;
			controller?.abort(NOT_WAITED_FOR);
		},
	};
}
