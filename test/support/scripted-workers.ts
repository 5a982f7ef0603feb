/** Scripted worker processes: they respond, hold requests, and exit on request. */

import type { ActionRequest } from "../../src/core/outcome.js";
import type { Clock } from "../../src/ports/clock.js";
import type {
	AttemptEnd,
	Executor,
	Worker,
	WorkerEnd,
	WorkerEndCause,
	WorkerStarted,
} from "../../src/ports/executor.js";

export interface ScriptedWorker extends Worker {
	/** Requests that it holds, by id. */
	readonly held: ReadonlyMap<string, ActionRequest>;
	answer(requestId: string, end: AttemptEnd): void;
	exit(code: number, cause?: WorkerEndCause): void;
}

export interface ScriptedWorkers extends Executor {
	/** Alive, in the order of their starts. */
	readonly alive: ScriptedWorker[];
	/** Ever started. */
	readonly started: string[];
	/** The most that were ever alive at once. */
	readonly peak: { count: number };
	/** Runs that were ended for a daemon that died. */
	readonly endedLeft: string[];
	/** The result of a start from now on; null starts it. */
	refuse: { readonly permanent: boolean; readonly detail: string } | null;
}

export function createScriptedWorkers(clock: () => Clock): ScriptedWorkers {
	let pids = 1_000;
	const alive: ScriptedWorker[] = [];
	const started: string[] = [];
	const endedLeft: string[] = [];
	const peak = { count: 0 };

	function createWorker(runId: string): ScriptedWorker {
		const held = new Map<string, ActionRequest>();
		const waiting = new Map<string, (end: AttemptEnd) => void>();
		let isOpen = true;
		let resolveEnded: (end: WorkerEnd) => void = () => {};
		const ended = new Promise<WorkerEnd>((resolve) => {
			resolveEnded = resolve;
		});
		const end = (requestId: string, how: AttemptEnd) => {
			held.delete(requestId);
			waiting.get(requestId)?.(how);
			waiting.delete(requestId);
		};
		const worker: ScriptedWorker = {
			...{ runId, held, ended },
			process: { bootId: "boot", pid: ++pids, startTime: "0" },
			startedAtMs: clock().now().wallMs,
			outputFrom: 0,
			get isOpen() {
				return isOpen;
			},
			get pending() {
				return held.size;
			},
			ask: (request) =>
				new Promise((resolve) => {
					held.set(request.request_id, request);
					waiting.set(request.request_id, resolve);
				}),
			answer: end,
			exit(code, cause = "exited") {
				isOpen = false;
				alive.splice(alive.indexOf(worker), 1);
				for (const id of [...held.keys()]) end(id, { outcome: null, log: "" });
				const atMs = clock().now().wallMs;
				const facts = { runId, code, signal: null, atMs, outOfMemory: false };
				resolveEnded({ ...facts, cause, reason: `the test said ${cause}` });
			},
			async stop() {
				if (isOpen) worker.exit(0, "stopped");
				return { outcome: "graceful", reason: null, killed: [] };
			},
		};
		return worker;
	}

	const executor: ScriptedWorkers = {
		...{ alive, started, endedLeft, peak, refuse: null },
		call: () => Promise.reject(new Error("only workers are run here")),
		async startWorker({ runId }): Promise<WorkerStarted> {
			if (executor.refuse !== null) return { ok: false, failure: executor.refuse };
			const worker = createWorker(runId);
			alive.push(worker);
			started.push(runId);
			peak.count = Math.max(peak.count, alive.length);
			return { ok: true, worker };
		},
		async endLeft(runIds) {
			endedLeft.push(...runIds);
			for (const worker of alive.filter(({ runId }) => runIds.includes(runId))) worker.exit(137);
			return [];
		},
		close: async () => {},
	};
	return executor;
}
