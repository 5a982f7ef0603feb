/**
 * Writes a stream to one reader: waits for a slow one, and disconnects one that reads nothing at all
 * (A6). The time limits and the heartbeat of all streams are here.
 */

import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";

export interface StreamLimits {
	/** How long a reader may read nothing although there is data. */
	readonly stalledMsMax: number;
	readonly heartbeatMs: number;
}

export const STREAM_LIMITS: StreamLimits = { stalledMsMax: 60_000, heartbeatMs: 15_000 };

/** Starts a stream of server-sent events, and confirms it to the client before the first one. */
export function openEventStream(response: ServerResponse): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	response.flushHeaders();
}

/** The last line of a stream whose credential has become invalid (A8). */
export const NO_LONGER_VALID = ": the token or login is no longer valid\n\n";

export interface StreamOutput {
	/** Resolves when more can be written. */
	write(text: string): Promise<void>;
	drained(): Promise<void>;
	/** Whether written data has not been read yet. */
	busy(): boolean;
	ended(): boolean;
	/** Calls this, instead of any earlier callback, when the reader has gone. */
	whenOver(call: () => void): void;
}

/** Writes to one reader. One that does not read for too long is disconnected. */
export function createStreamOutput(
	to: Writable,
	gone: AbortSignal,
	{ stalledMsMax }: Pick<StreamLimits, "stalledMsMax"> = STREAM_LIMITS,
): StreamOutput {
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
