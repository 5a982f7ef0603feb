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
} from "../../ports/backend.js";

/** Not from the types of Node, which users of the library may not have installed. */
export type DeadlySignal = "SIGABRT" | "SIGKILL" | "SIGSEGV" | "SIGTERM";

/** The behaviour of a run. Those with `when` wait until `world.trigger(runId)`. */
export type BackendBehaviour =
	| { readonly type: "lives-on" }
	| { readonly type: "exits"; readonly code: number; readonly when?: "triggered" }
	| { readonly type: "dies"; readonly signal: DeadlySignal; readonly when?: "triggered" }
	| { readonly type: "ignores-sigterm" }
	| { readonly type: "echoes-input"; readonly marksPastes?: boolean }
	| { readonly type: "is-missing" };

/** The interface of the suite to a backend. */
export interface BackendWorld {
	/** A new client. Closed with the world. */
	connect(): Backend;
	/** A client that cannot see any run. */
	connectBlind(): Promise<Backend>;
	/** A request for a new run of a new agent. */
	request(behaviour: BackendBehaviour): StartRequest;
	trigger(runId: string): void;
	/** Every byte that has reached an `echoes-input`; null until it is ready. */
	received(runId: string): Uint8Array | null;
	/** Lets a little time pass. */
	pass(): Promise<void>;
	/** Wall time in the world. */
	nowMs(): number;
	/** How long the suite waits for an expected change; 30 seconds by default. */
	readonly patienceMs?: number;
	/** Stops everything that was started in it. */
	close(): Promise<void>;
}

/** `REEVE_TEST_PATIENCE` is a factor for slow machines. */
const PATIENCE_MS = 30_000 * Number(process.env["REEVE_TEST_PATIENCE"] ?? 1);

/** Polls until the result is neither null, undefined nor false. */
export async function eventually<T>(
	look: () => T | Promise<T>,
	{
		pass = () => sleep(10) as Promise<unknown>,
		what = look.toString(),
		patienceMs = PATIENCE_MS,
	} = {},
): Promise<NonNullable<T> extends false ? never : NonNullable<Exclude<T, false>>> {
	const deadlineMs = performance.now() + patienceMs;
	for (;;) {
		const seen = await look();
		if (seen !== null && seen !== undefined && seen !== false) return seen as never;
		if (performance.now() > deadlineMs) throw new Error(`not within ${patienceMs} ms: ${what}`);
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
