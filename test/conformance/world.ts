/**
 * The interface of the conformance suite to a backend: a world in which runs with a given behaviour can
 * be started, and clients can connect and disconnect.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type {
	Backend,
	RunExit,
	RunHandle,
	RunReference,
	StartRequest,
} from "../../src/ports/backend.js";

/** How a run is to behave. The ones with `when` wait until `world.trigger(runId)`. */
export type Behaviour =
	| { readonly type: "lives-on" }
	| { readonly type: "exits"; readonly code: number; readonly when?: "triggered" }
	| { readonly type: "dies"; readonly signal: NodeJS.Signals; readonly when?: "triggered" }
	| { readonly type: "ignores-sigterm" }
	| { readonly type: "echoes-input"; readonly marksPastes?: boolean }
	| { readonly type: "is-missing" };

export interface World {
	/** A new client. Closed with the world. */
	connect(): Backend;
	/** A client that cannot find out anything. */
	connectBlind(): Promise<Backend>;
	/** A request for a new run of a new agent. */
	request(behaviour: Behaviour): StartRequest;
	trigger(runId: string): void;
	/** Every byte that has reached an `echoes-input`; null until it is ready. */
	received(runId: string): Uint8Array | null;
	/** Lets a little time pass. */
	pass(): Promise<void>;
	/** Wall time in the world. */
	nowMs(): number;
	/** Ends everything that was started in it. */
	close(): Promise<void>;
}

/** For machines that take many times as long. */
const PATIENCE = Number(process.env["REEVE_TEST_PATIENCE"] ?? 1);
const DEADLINE_MS = 30_000 * PATIENCE;
/** How long a test may take, and how long what comes after it. */
export const TEST_MS_MAX = 120_000 * PATIENCE;
export const CLOSE_MS_MAX = 60_000 * PATIENCE;

/** Looks again and again until there is something to see. */
export async function eventually<T>(
	look: () => T | Promise<T>,
	{ pass = () => sleep(10) as Promise<unknown>, what = look.toString() } = {},
): Promise<NonNullable<T> extends false ? never : NonNullable<Exclude<T, false>>> {
	const deadlineMs = performance.now() + DEADLINE_MS;
	for (;;) {
		const seen = await look();
		if (seen !== null && seen !== undefined && seen !== false) return seen as never;
		if (performance.now() > deadlineMs) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
		await pass();
	}
}

/** Starts a run that is expected to start. */
export async function startOk(backend: Backend, request: StartRequest): Promise<RunHandle> {
	const result = await backend.start(request);
	if (!result.ok) throw new Error(`did not start: ${result.failure.detail}`);
	return result.handle;
}

/** A run that is known by its handle. */
export const runOf = (handle: RunHandle): RunReference => ({ runId: handle.runId, handle });

/** Collects the reports to a client. */
export function listen(backend: Backend) {
	const exits: RunExit[] = [];
	backend.onExit((exit) => exits.push(exit));
	return {
		all: exits,
		of: (runId: string) => exits.filter((exit) => exit.runId === runId),
		first: (runId: string) => exits.find((exit) => exit.runId === runId),
	};
}
