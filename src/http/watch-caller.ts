/** Signals for handlers: the client no longer waits for the response. */

import type { ServerResponse } from "node:http";
import { ReeveError } from "../core/errors.js";
import type { Via } from "./auth/places.js";
import type { RouteName } from "./contract/routes.js";
import type { HandlerRequest } from "./handler.js";

/** How long a stream may take to end after its credential has become invalid. */
const DROP_MS_MAX = 1_000;

/** Shared: a separate error would collect a stack trace for every request. */
const NOT_WAITED_FOR = new ReeveError("connection_lost", "the caller stopped waiting");

/** Callbacks of open requests for the closing of the server. Cheaper than listeners of a signal. */
type ClosingWatchers = Set<() => void>;

/** A server, how requests arrive at it, and when it closes. */
export interface Door {
	readonly via: Via;
	readonly closing: AbortSignal;
	readonly watchers: ClosingWatchers;
}

/**
 * The signals last as long as the response, and are created on first use: extend the returned object,
 * do not copy it. They are not created with `AbortSignal.any`: a source that lives as long as the
 * daemon would retain each of them forever.
 */
export function watchCaller(
	response: ServerResponse,
	invalid: AbortSignal | null,
	{ closing, watchers }: Pick<Door, "closing" | "watchers">,
): Pick<HandlerRequest<RouteName>, "dropped" | "gone"> {
	const dropped = createLateSignal();
	const gone = createLateSignal();
	const drop = () => {
		dropped.abort();
		gone.abort();
	};
	const end = () => {
		// The closing server waits for its connections.
		response.shouldKeepAlive = false;
		gone.abort();
	};
	/** A slow reader loses what it has not read by then. */
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

/** A signal that is created on first use: most handlers need none. */
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
