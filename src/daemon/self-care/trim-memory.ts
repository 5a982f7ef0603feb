/**
 * Returns memory to the system after busy times. V8 keeps its peak heap until a collection, and an idle daemon does not
 * trigger one. A collection takes some 30 ms, so it waits for a quiet moment, and runs only if the heap has grown.
 */

const POLL_MS = 5_000;
/** The load of the loop that counts as quiet. */
const QUIET_MAX = 0.1;
const GROWN_BYTES_MIN = 4 * 1_048_576;
/** Pages that one collection empties are returned by the next ones. */
const PASSES = 3;

export interface TrimWorld {
	/** The heap that V8 holds, used or not. */
	readonly heapBytes: () => number;
	/** The load of the loop since the last call, from 0 to 1. */
	readonly busyness: () => number;
	readonly collect: () => void;
}

/** Returns the function to call every few seconds. */
export function createTrimmer({ heapBytes, busyness, collect }: TrimWorld): () => void {
	let settledBytes = 0;
	let passesLeft = 0;
	return () => {
		if (busyness() > QUIET_MAX) return;
		if (passesLeft === 0) {
			if (heapBytes() < settledBytes + GROWN_BYTES_MIN) return;
			passesLeft = PASSES;
		}
		collect();
		passesLeft -= 1;
		if (passesLeft === 0) settledBytes = heapBytes();
	};
}

/** Trims as long as the daemon runs. Does nothing without access to V8's collector (`--expose-gc`). */
export function trimMemory(): void {
	const { gc: collect } = globalThis;
	if (collect === undefined) return;
	let before = performance.eventLoopUtilization();
	const trim = createTrimmer({
		heapBytes: () => process.memoryUsage().heapTotal,
		busyness() {
			const now = performance.eventLoopUtilization();
			const { utilization } = performance.eventLoopUtilization(now, before);
			before = now;
			return utilization;
		},
		collect: () => void collect(),
	});
	setInterval(trim, POLL_MS).unref();
}
