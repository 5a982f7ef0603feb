/**
 * The agent's side of the protocol: reads requests from stdin, one JSON text per line, and writes a
 * response for each to stdout in any order. With one request and the end of input it is a call agent;
 * with many it is a worker agent. The same program can be both.
 */

import { Console } from "node:console";
import { addAbortSignal, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { format } from "node:util";
import { messageOf } from "../core/message-of.js";
import type { ActionRequest, ActionResponse } from "../core/outcome.js";
import { BadRequest, RetryLater } from "./errors.js";

/** The context of a request besides its payload. */
export interface AgentContext {
	readonly requestId: string;
	readonly tool: string;
	readonly action: string;
	readonly taskId: string;
	readonly planId: string;
	readonly correlationId: string;
	/** The `context` that the caller sent with the payload. */
	readonly context: unknown;
	/** Aborted when the caller no longer waits for the response. */
	readonly signal: AbortSignal;
	/** Writes a line to the attempt's log. */
	log(...words: unknown[]): void;
}

/**
 * Handles one action and returns its result. Declared as a method, so that a handler can declare the
 * type of its payload, which is not checked.
 */
export type Handler = { handle(payload: unknown, context: AgentContext): unknown }["handle"];

/** Options of `serve()`. */
export interface ServeOptions {
	/** Only accept requests for this tool. */
	readonly tool?: string;
	/** How many requests may run at once; further requests wait in the pipe. */
	readonly concurrency?: number;
	/** Whether the process exits after the last response, even with open connections; true by default. */
	readonly exit?: boolean;
}

const CONCURRENCY = 100;

/** Resolves when the input has ended and every request has a response. */
export async function serve(
	handlers: Readonly<Record<string, Handler>>,
	options: ServeOptions = {},
): Promise<void> {
	const write = takeStdout();
	const signal = abortOnSignal();
	const underWay = new Set<Promise<void>>();
	const answer = async (line: string) => {
		const request = parseRequest(line);
		if (request === null) return;
		const response = await respond(request, handlers, options.tool, signal);
		await write(`${renderResponse(response)}\n`);
	};
	for await (const line of readLines(process.stdin, signal)) {
		if (line.trim() === "") continue;
		const done = answer(line).catch(leave);
		underWay.add(done);
		void done.then(() => underWay.delete(done));
		if (underWay.size >= (options.concurrency ?? CONCURRENCY)) await Promise.race(underWay);
	}
	await Promise.all(underWay);
	if (options.exit === false) return;
	// Flushes the log before the exit.
	process.stderr.write("", () => process.exit());
}

/** The pipe is closed, so the caller is gone. */
function leave(): never {
	process.exit(1);
}

/** The first signal lets current requests finish, the second does not. */
function abortOnSignal(): AbortSignal {
	const controller = new AbortController();
	for (const name of ["SIGTERM", "SIGINT"] as const) {
		process.on(name, () => {
			if (controller.signal.aborted) process.exit(1);
			controller.abort();
		});
	}
	return controller.signal;
}

function parseRequest(line: string): ActionRequest | null {
	try {
		const value: unknown = JSON.parse(line);
		if (typeof Object(value).request_id === "string") return value as ActionRequest;
	} catch {
		// Handled below.
	}
	process.stderr.write("invalid line on stdin: expected a JSON object with a request_id\n");
	process.exitCode = 1;
	return null;
}

async function respond(
	request: ActionRequest,
	handlers: Readonly<Record<string, Handler>>,
	tool: string | undefined,
	signal: AbortSignal,
): Promise<ActionResponse> {
	const { action, request_id, plan_id, task_id, correlation_id } = request;
	const ids = { request_id, plan_id, task_id, correlation_id };
	const fail = (code: number, message: string, more: object = {}): ActionResponse => ({
		...ids,
		status: "error",
		code,
		error: { message },
		...more,
	});
	if (tool !== undefined && request.tool !== tool) {
		return fail(501, `this agent is the tool ${tool}, not ${request.tool}`);
	}
	const handler = Object.hasOwn(handlers, action) ? handlers[action] : undefined;
	if (handler === undefined) {
		return fail(501, `unknown action ${action}; available: ${Object.keys(handlers).join(", ")}`);
	}
	try {
		const result = await handler(request.payload, contextOf(request, signal));
		return { ...ids, status: "success", code: 0, result };
	} catch (error) {
		const message = messageOf(error);
		if (process.env["DEBUG"] && error instanceof Error) process.stderr.write(`${error.stack}\n`);
		if (error instanceof BadRequest) return fail(400, message);
		if (error instanceof RetryLater) return fail(503, message, { retry_after_ms: error.afterMs });
		return fail(500, message);
	}
}

function contextOf(request: ActionRequest, signal: AbortSignal): AgentContext {
	return {
		requestId: request.request_id,
		tool: request.tool,
		action: request.action,
		taskId: request.task_id,
		planId: request.plan_id,
		correlationId: request.correlation_id,
		context: request.context,
		signal,
		log: (...words) => void process.stderr.write(`${format(...words)}\n`),
	};
}

/** A result that is not JSON is a failure of the action, not of the agent. */
function renderResponse(response: ActionResponse): string {
	try {
		return JSON.stringify(response);
	} catch (error) {
		const message = `the result cannot be serialized as JSON: ${(error as Error).message}`;
		const { result: _, ...rest } = response;
		return JSON.stringify({ ...rest, status: "error", code: 500, error: { message } });
	}
}

/*
 * Stdout is reserved for responses. Other output of the program or of libraries goes to stderr, which
 * is the attempt's log. Only child processes that inherit file descriptor 1 can still write to it.
 */

/** Redirects all other output; returns a function that writes a response and resolves when it is flushed. */
function takeStdout(): (text: string) => Promise<void> {
	const { stdout, stderr } = process;
	const write = stdout.write.bind(stdout);
	Object.assign(console, new Console({ stdout: stderr, stderr }));
	stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
	return (text) =>
		new Promise((resolve, reject) => {
			write(text, (error) => (error ? reject(error) : resolve()));
		});
}

/** Far beyond any sensible request (A6). */
const LINE_LENGTH_MAX = 64 * 1024 * 1024;

/** Ends with the input, or when aborted. */
async function* readLines(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
	try {
		yield* splitLines(addAbortSignal(signal, input));
	} catch (error) {
		if (!signal.aborted) throw error;
	}
}

async function* splitLines(input: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
	const decoder = new StringDecoder("utf8");
	let parts: string[] = [];
	let partsLength = 0;
	for await (const chunk of input) {
		const [first = "", ...more] = decoder.write(Buffer.from(chunk)).split("\n");
		parts.push(first);
		partsLength += first.length;
		if (partsLength > LINE_LENGTH_MAX) throw new Error("the request is too long");
		for (const next of more) {
			yield parts.join("");
			parts = [next];
			partsLength = next.length;
		}
	}
	yield parts.join("") + decoder.end();
}
