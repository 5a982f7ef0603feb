/**
 * One process that serves many requests, with one JSON text per line in both directions, and responses in any order.
 * Its work for one request cannot be stopped separately. A request that is cancelled, or has no response within the
 * agent's own timeout, kills the whole tree before its caller gets the outcome (T6). A caller's shorter deadline does
 * so only if the process serves no other request: otherwise the request is abandoned, and the process is killed when it
 * serves no other requests. A later response changes nothing (T7).
 */

import type { Buffer } from "node:buffer";
import {
	type ActionRequest,
	classifyProcessFailure,
	classifyResponse,
	type Outcome,
} from "../core/outcome.js";
import { readBootId, readIdentity } from "../host/process-identity.js";
import type { KillResult, ProcessIdentity } from "../ports/backend.js";
import type {
	AttemptEnd,
	Worker,
	WorkerEnd,
	WorkerEndCause,
	WorkerStart,
	WorkerStarted,
	WorkerStop,
} from "../ports/executor.js";
import { isInTime, startDeadline } from "./deadline.js";
import { createHeldRequests, type HeldRequest, type HeldRequests } from "./held-requests.js";
import { parseAnswerLine, quote } from "./parse-answer.js";
import { endLeftovers, endProgram, type RunningProgram, terminate } from "./program.js";
import {
	classifyHeld,
	displacedOutcome,
	type Ending,
	endingOf,
	UNKNOWN_END,
} from "./worker-ending.js";
import { createWorkerLog, type WorkerLog } from "./worker-log.js";
import { watchPipes } from "./worker-pipes.js";
import type { World } from "./world.js";

/** The full log of a worker is in files, and much of it may concern other requests. */
const REQUEST_LOG_BYTES_MAX = 8 * 1024;
/** How long an idle worker may take to exit after the end of its input, before it gets SIGTERM. */
const INPUT_END_MS_MAX = 2_000;
/** The part of the grace period after SIGTERM, at most. */
const TERM_MS_MAX = 1_000;

export async function startWorker(start: WorkerStart, world: World): Promise<WorkerStarted> {
	const { program, runId } = start;
	if (world.isClosed) {
		return { ok: false, failure: { permanent: false, detail: "the daemon is stopping" } };
	}
	const started = await world.start({ ...program, runId });
	if (!started.ok) return started;
	const worker = new ProcessWorker(start, started.program, world);
	const takeBackHold = world.hold(() => void worker.stop(0));
	void worker.ended.then(takeBackHold);
	// The executor may have been closed during the start.
	if (world.isClosed) await worker.stop(0);
	return { ok: true, worker };
}

class ProcessWorker implements Worker {
	readonly runId: string;
	readonly process: ProcessIdentity;
	readonly startedAtMs = Date.now();
	readonly ended: Promise<WorkerEnd>;
	readonly #start: WorkerStart;
	readonly #program: RunningProgram;
	readonly #world: World;
	readonly #log: WorkerLog;
	readonly #held: HeldRequests;
	readonly #askedToEnd: Promise<void>;
	#askToEnd: () => void = () => {};
	#ending: Ending | null = null;
	#isStopping = false;
	#gone: KillResult = { ok: true, killed: [] };
	#abandoned = 0;

	constructor(start: WorkerStart, program: RunningProgram, world: World) {
		const { answerBytesMax, logBytesMax, unreadBytesMax } = world.bounds;
		this.runId = start.runId;
		this.process = readIdentity(program.pid) ?? endedIdentity(program.pid);
		this.#start = start;
		this.#program = program;
		this.#world = world;
		this.#log = createWorkerLog(program.stderr, start.logDir, logBytesMax);
		this.#held = createHeldRequests(program.stdin, unreadBytesMax);
		this.#askedToEnd = new Promise((resolve) => {
			this.#askToEnd = resolve;
		});
		watchPipes(program, answerBytesMax, {
			onLine: (line) => this.#onLine(line),
			onTrouble: (reason) => this.#end("sick", reason),
			isClosingExpected: () => this.#isStopping,
		});
		this.ended = this.#live();
	}

	get outputFrom(): number {
		return this.#log.from;
	}

	get isOpen(): boolean {
		return !this.#isStopping && this.#ending === null && this.#program.end === null;
	}

	get pending(): number {
		return this.#held.size;
	}

	ask(
		request: ActionRequest,
		timeoutMs: number,
		signal: AbortSignal,
		lateMs = 0,
	): Promise<AttemptEnd> {
		if (signal.aborted) return Promise.resolve({ outcome: null, log: "" });
		if (!this.isOpen) {
			const outcome = displacedOutcome("its worker accepts no more requests");
			return Promise.resolve({ outcome, log: "", notGiven: true });
		}
		const { request_id } = request;
		if (this.#held.has(request_id)) throw new Error(`duplicate request ${request_id}`);
		return new Promise((resolve) => {
			const held: HeldRequest = {
				request,
				isSent: false,
				logPosition: this.#log.tail.position,
				end(result) {
					takeBackDeadline();
					signal.removeEventListener("abort", callOff);
					resolve(result);
				},
			};
			const callOff = () => {
				if (held.isSent) this.#endFor(held, null, "called_off", "was cancelled");
				else this.#finish(held, null);
			};
			const takeBackDeadline = startDeadline(timeoutMs, () => {
				const outcome = classifyProcessFailure({ type: "timeout", afterMs: timeoutMs });
				const why = `had no response within ${timeoutMs} ms`;
				if (!held.isSent) this.#finish(held, outcome);
				else if (lateMs === 0) this.#endFor(held, outcome, "timed_out", why);
				else if (this.#held.live > 1) this.#abandon(held, outcome, lateMs);
				else this.#endFor(held, outcome, "called_off", `${why}, its caller's deadline`);
			});
			signal.addEventListener("abort", callOff);
			this.#held.add(held);
		});
	}

	/** Its requests, the end of its input and SIGTERM share the grace period; only then it is killed (S12). */
	async stop(graceMs: number): Promise<WorkerStop> {
		this.#isStopping = true;
		const deadlineMs = performance.now() + graceMs;
		const termAtMs = deadlineMs - Math.min(TERM_MS_MAX, graceMs / 5);
		const waitUntil = (moment: Promise<unknown>, untilMs: number) =>
			isInTime(moment, untilMs - performance.now());
		await waitUntil(Promise.race([this.#held.whenEmpty(), this.ended]), termAtMs);
		this.#program.stdin.end();
		await waitUntil(this.ended, Math.min(termAtMs, performance.now() + INPUT_END_MS_MAX));
		terminate(this.#program);
		await waitUntil(this.ended, deadlineMs);
		this.#end("stopped", "was stopped and did not exit in time");
		await this.ended;
		if (!this.#gone.ok) {
			return { outcome: "not_proven", reason: this.#gone.reason, killed: [] };
		}
		const { killed } = this.#gone;
		const isGraceful = this.#ending === null && killed.length === 0;
		return { outcome: isGraceful ? "graceful" : "timed_out_killed", reason: null, killed };
	}

	/** Runs until the tree is gone and every request has finished. */
	async #live(): Promise<WorkerEnd> {
		const hasExited = await Promise.race([
			this.#program.exited.then(() => true),
			this.#askedToEnd.then(() => false),
		]);
		const gone = await (hasExited ? endLeftovers(this.#program) : endProgram(this.#program));
		this.#gone = gone;
		const left = gone.ok ? null : gone.reason;
		if (left !== null) this.#world.trouble(`${this.runId}: cannot be killed: ${left}`);
		const facts = this.#program.end ?? UNKNOWN_END();
		const why = this.#ending ?? endingOf(facts, this.#isStopping);
		for (const held of this.#held.all()) this.#finish(held, classifyHeld(held, why, left));
		await this.#log.close();
		this.#world.release(this.#program);
		return { runId: this.runId, ...facts, ...why };
	}

	/** The first reason is kept. A worker that has exited need not be killed. */
	#end(cause: WorkerEndCause, reason: string): void {
		if (this.#ending !== null || this.#program.end !== null) return;
		this.#ending = { cause, reason };
		this.#log.note(`ended: ${reason}`);
		this.#askToEnd();
	}

	/** Kills the whole worker because of one request, which gets its outcome when the tree is gone. */
	#endFor(held: HeldRequest, outcome: Outcome | null, cause: WorkerEndCause, what: string): void {
		held.verdict = outcome;
		this.#end(cause, `request ${held.request.request_id} ${what}`);
	}

	/** The caller has gone, and others use the worker: it may take until its own timeout for this request. */
	#abandon(held: HeldRequest, outcome: Outcome, lateMs: number): void {
		const id = held.request.request_id;
		held.verdict = outcome;
		this.#abandoned += 1;
		const takeBackLimit = startDeadline(lateMs, () =>
			this.#end("timed_out", `request ${id} had no response within the agent's timeout`),
		);
		const over = new Promise<void>((resolve) => {
			held.abandoned = () => {
				takeBackLimit();
				resolve();
			};
		});
		held.end({ outcome, log: this.#logOf(held), over });
	}

	#finish(held: HeldRequest, outcome: Outcome | null): void {
		this.#held.remove(held);
		if (held.abandoned !== undefined) {
			this.#abandoned -= 1;
			held.abandoned();
			return;
		}
		const notGiven = outcome?.ok === false && outcome.error === "internal" && !held.isSent;
		held.end({ outcome, log: this.#logOf(held), ...(notGiven && { notGiven }) });
		if (this.#abandoned > 0 && this.#abandoned === this.#held.size) {
			const [left] = this.#held.all();
			this.#end(
				"called_off",
				`the only request left is ${left?.request.request_id}, and its caller is gone`,
			);
		}
	}

	#logOf({ logPosition }: HeldRequest): string {
		return this.#log.tail.textSince(logPosition, REQUEST_LOG_BYTES_MAX);
	}

	#onLine(line: Buffer): void {
		// Output of a faulty worker is ignored.
		if (this.#ending?.cause === "sick") return;
		const answer = parseAnswerLine(line);
		if (answer === null) {
			this.#unexpectedLine(line.toString("utf8"));
			return;
		}
		const { requestId, parsed } = answer;
		const abandoned = this.#held.abandoned(requestId);
		if (abandoned !== null) {
			this.#log.count("ignored a response without a pending request", `to ${quote(requestId)}`);
			this.#finish(abandoned, null);
			return;
		}
		const held = this.#held.answerable(requestId);
		if (held === null) {
			this.#log.count("ignored a late or unknown response", `to ${quote(requestId)}`);
			return;
		}
		const outcome = parsed.ok
			? classifyResponse(requestId, parsed.response)
			: classifyProcessFailure({ type: "bad_answer", detail: parsed.detail });
		this.#finish(held, outcome);
	}

	#unexpectedLine(text: string): void {
		if (text.trim() === "") return;
		const what = "printed a line that is not a response";
		if (this.#start.program.extraOutput === "refuse") this.#end("sick", `${what}: ${quote(text)}`);
		else this.#log.count(what, quote(text));
	}
}

/** It exited before it could be inspected. No process has this start time. */
const endedIdentity = (pid: number): ProcessIdentity => ({
	bootId: readBootId(),
	pid,
	startTime: "ended",
});
