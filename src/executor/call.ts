/**
 * One process for one request. The deadline covers all of it: spawning, writing, waiting, reading. It
 * resolves when the whole tree is gone and reaped (T6), and never rejects. A complete response counts,
 * whatever its process does afterwards.
 */

import { Buffer } from "node:buffer";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Limited, Unusable } from "../core/headless.js";
import { messageOf } from "../core/message-of.js";
import {
	type ActionRequest,
	classifyProcessFailure,
	classifyResponse,
	type Outcome,
	type ProcessFailure,
} from "../core/outcome.js";
import { renderSize } from "../core/units.js";
import type { AttemptEnd, CallAdapter, CallAttempt, CallCommand } from "../ports/executor.js";
import { startDeadline } from "./deadline.js";
import { createLogTail } from "./log-tail.js";
import { checkResponse, parseAnswer, quote } from "./parse-answer.js";
import {
	endLeftovers,
	endProgram,
	type ProgramEnd,
	type RunningProgram,
	renderEnd,
} from "./program.js";
import type { Bounds, World } from "./world.js";

/** The first cause that stopped the attempt. */
type Stop = "exited" | "timed_out" | "called_off" | "too_much";

/** A running attempt; the first reason to stop is kept. */
interface Stopping {
	stop(why: Stop): void;
	readonly stopped: Promise<Stop>;
}

export async function callProgram(
	attempt: CallAttempt,
	signal: AbortSignal,
	world: World,
): Promise<AttemptEnd> {
	const { adapter, program, request, runId, timeoutMs } = attempt;
	if (signal.aborted || world.isClosed) return { outcome: null, log: "" };
	const { stop, stopped } = createStopping();
	const callOff = () => stop("called_off");
	const takeBackDeadline = startDeadline(timeoutMs, () => stop("timed_out"));
	const takeBackHold = world.hold(callOff);
	signal.addEventListener("abort", callOff);
	let temporary: OwnTmpdir | null = null;
	try {
		const command = prepare(attempt);
		if ("outcome" in command) return command;
		temporary = await makeOwnTmpdir(command);
		const started = await world.start({ ...program, ...command, env: temporary.env, runId });
		if (!started.ok) {
			const { permanent, detail } = started.failure;
			return failedAt({ type: permanent ? "spawn_error" : "host_exhausted", detail });
		}
		const running = started.program;
		const output = collectOutput(running, world.bounds, () => stop("too_much"));
		running.stdin.end(command.stdin);
		void running.exited.then(() => stop("exited"));
		const why = await stopped;
		takeBackDeadline();
		const gone = await (why === "exited" ? endLeftovers(running) : endProgram(running));
		world.release(running);
		const log = output.log();
		if (!gone.ok) return failedAt({ type: "left_alive", detail: gone.reason }, log);
		const end = await running.exited;
		const answered = { request, adapter, ...output.read() };
		const outcome = classify(attempt, why, end, answered, world.bounds);
		return { outcome, log, ...usedBy(adapter, answered) };
	} finally {
		takeBackDeadline();
		signal.removeEventListener("abort", callOff);
		await temporary?.remove();
		takeBackHold();
	}
}

const failedAt = (failure: ProcessFailure, log = ""): AttemptEnd => ({
	outcome: classifyProcessFailure(failure),
	log,
});

function createStopping(): Stopping {
	let stop: (why: Stop) => void = () => {};
	const stopped = new Promise<Stop>((resolve) => {
		stop = resolve;
	});
	return { stop, stopped };
}

/** The command to start, or the outcome without a start. */
function prepare({ adapter, program, request }: CallAttempt): CallCommand | AttemptEnd {
	if (adapter === null) {
		return { argv: program.argv, env: program.env, stdin: `${JSON.stringify(request)}\n` };
	}
	try {
		const prepared = adapter.prepare(program, request);
		if ("argv" in prepared) return prepared;
		const { code, message: error } = prepared;
		const { request_id } = request;
		const response = { request_id, status: "error", code, error };
		return { outcome: classifyResponse(request_id, response), log: "" };
	} catch (error) {
		const words = `the adapter ${adapter.name} cannot build a command for the request`;
		return failedAt({ type: "spawn_error", detail: `${words}: ${messageOf(error)}` });
	}
}

interface Collected {
	readonly stdout: Buffer;
	/** An error of the pipes themselves. */
	readonly ioError: string | null;
}

interface Output {
	log(): string;
	read(): Collected & { readonly stderr: string };
}

function collectOutput(program: RunningProgram, bounds: Bounds, onTooMuch: () => void): Output {
	const { stdin, stdout, stderr } = program;
	const chunks: Buffer[] = [];
	let bytes = 0;
	let ioError: string | null = null;
	const tail = createLogTail(bounds.logBytesMax);
	stderr.on("data", (chunk: Buffer) => tail.append(chunk));
	stdout.on("data", (chunk: Buffer) => {
		bytes += chunk.length;
		if (bytes <= bounds.answerBytesMax) {
			chunks.push(chunk);
			return;
		}
		chunks.length = 0;
		// Nothing reads from now on: a writing process gets an error, or blocks until it is killed.
		stdout.destroy();
		onTooMuch();
	});
	stdout.on("error", (error) => {
		ioError = `cannot read its response: ${error.message}`;
	});
	stdin.on("error", (error: NodeJS.ErrnoException) => {
		// An agent need not read its input.
		if (error.code === "EPIPE" || error.code === "ECONNRESET") return;
		ioError = `cannot write the request: ${error.message}`;
	});
	const log = () => tail.textSince(0);
	return { log, read: () => ({ stdout: Buffer.concat(chunks), stderr: log(), ioError }) };
}

interface Answered extends Collected {
	readonly request: ActionRequest;
	readonly adapter: CallAdapter | null;
	readonly stderr: string;
}

function classify(
	{ program, request, timeoutMs }: CallAttempt,
	why: Stop,
	end: ProgramEnd,
	answered: Answered,
	bounds: Bounds,
): Outcome | null {
	if (why === "too_much") {
		const detail = `response larger than ${renderSize(bounds.answerBytesMax)}`;
		return classifyProcessFailure({ type: "bad_answer", detail });
	}
	const { adapter, stdout } = answered;
	const zone = program.env["TZ"] ?? null;
	if (adapter !== null && why === "exited") return classifyAdapted(adapter, end, answered, zone);
	if (adapter === null && stdout.length > 0) {
		const answer = parseAnswer(stdout, request.request_id, program.extraOutput);
		const isOurs = answer.ok && answer.response.request_id === request.request_id;
		if (answer.ok && (isOurs || why === "exited")) {
			return classifyResponse(request.request_id, answer.response);
		}
		if (!answer.ok && why === "exited") return classifyUnanswered(end, answered, answer.detail);
	}
	if (why === "called_off") return null;
	if (why === "timed_out") return classifyProcessFailure({ type: "timeout", afterMs: timeoutMs });
	return classifyUnanswered(end, answered, null);
}

function classifyAdapted(
	adapter: CallAdapter,
	end: ProgramEnd,
	answered: Answered,
	zone: string | null,
): Outcome {
	const { request, stdout, stderr } = answered;
	if (end.outOfMemory || answered.ioError !== null) return classifyUnanswered(end, answered, null);
	const { code, signal } = end;
	let detail: string;
	try {
		const reported = adapter.parse(request, {
			code,
			signal,
			stderr,
			stdout: stdout.toString("utf8"),
			atMs: Date.now(),
			zone,
		});
		if (isUnusable(reported)) {
			return classifyProcessFailure({ type: "unusable", detail: reported.unusable });
		}
		if (isLimited(reported)) {
			const { limited: detail, resetInMs } = reported;
			return classifyProcessFailure({ type: "usage_limit", detail, resetInMs });
		}
		const answer = checkResponse(reported, stdout.length);
		if (answer.ok) return classifyResponse(request.request_id, answer.response);
		({ detail } = answer);
	} catch (error) {
		detail = messageOf(error);
	}
	const words = `the adapter ${adapter.name} cannot parse the output ${quote(stdout.toString("utf8"))}`;
	return classifyUnanswered(end, answered, `${words}: ${detail}`);
}

/** Its usage counts whatever the outcome, and does not affect it. */
function usedBy(adapter: CallAdapter | null, { stdout }: Answered): Pick<AttemptEnd, "used"> {
	try {
		const used = adapter?.used?.(stdout.toString("utf8")) ?? null;
		return used === null ? {} : { used };
	} catch {
		return {};
	}
}

function isUnusable(prepared: unknown): prepared is Unusable {
	return typeof (prepared as Partial<Unusable> | null)?.unusable === "string";
}

function isLimited(prepared: unknown): prepared is Limited {
	return typeof (prepared as Partial<Limited> | null)?.limited === "string";
}

/** `bad` describes the output that is not a response, if any. */
function classifyUnanswered(end: ProgramEnd, { ioError }: Answered, bad: string | null): Outcome {
	if (end.outOfMemory) return classifyProcessFailure({ type: "no_answer", detail: renderEnd(end) });
	if (ioError !== null) return classifyProcessFailure({ type: "io", detail: ioError });
	if (bad === null) {
		const detail = `${renderEnd(end)} without a response`;
		return classifyProcessFailure({ type: "no_answer", detail });
	}
	const isPlain = end.code === 0;
	const detail = isPlain ? bad : `${bad} (${renderEnd(end)})`;
	return classifyProcessFailure({ type: "bad_answer", detail });
}

interface OwnTmpdir {
	readonly env: CallCommand["env"];
	/** Called when no process of the attempt is left. */
	remove(): Promise<void>;
}

async function makeOwnTmpdir({ env, ownTmpdir }: CallCommand): Promise<OwnTmpdir> {
	if (ownTmpdir !== true) return { env, remove: async () => {} };
	const folder = await mkdtemp(join(env["TMPDIR"] ?? tmpdir(), "reeve-call-")).catch(() => null);
	// On a full disk, the program itself reports the error.
	if (folder === null) return { env, remove: async () => {} };
	return {
		env: { ...env, TMPDIR: folder },
		remove: () => rm(folder, { recursive: true, force: true }).catch(() => {}),
	};
}
