/**
 * A model API on loopback that is controlled by a test, in the dialects of Anthropic, OpenAI and Gemini. Agent CLIs
 * that use it run without a network and without cost. It records every request for the test.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { anthropic } from "./anthropic.js";
import { cut, type Dialect, type FullAnswer, type SseEvent } from "./dialect.js";
import { vendorError } from "./faults.js";
import { gemini } from "./gemini.js";
import { openaiChat } from "./openai-chat.js";
import { openaiResponses } from "./openai-responses.js";
import {
	chooseReply,
	type MockAnswer,
	type MockFailure,
	type MockGarbage,
	type MockReply,
	type MockRequest,
	type MockRule,
	type MockServiceFailure,
	type RuleState,
} from "./script.js";

/** A model API on loopback that a test controls. */
export interface MockApi {
	/** `http://127.0.0.1:<port>`, without a path. */
	readonly url: string;
	/** All requests to a model, oldest first. */
	readonly requests: readonly MockRequest[];
	/** Adds rules that take precedence over the existing ones. */
	script(...rules: MockRule[]): void;
	/** Removes all rules and requests. */
	reset(): void;
	/** Closes open connections and refuses new ones until `listen` is called. */
	refuse(): Promise<void>;
	/** Accepts connections again, at the same address. */
	listen(): Promise<void>;
	/** Closes every connection. */
	close(): Promise<void>;
}

/** Options of a mock model API. */
export interface MockApiOptions {
	readonly rules?: readonly MockRule[];
	/** The port; 0, the default, selects a free port. */
	readonly port?: number;
}

const DIALECTS: readonly Dialect[] = [anthropic, openaiResponses, openaiChat, gemini];

/** Starts a mock model API on loopback. */
export async function createMockApi({
	rules = [],
	port = 0,
}: MockApiOptions = {}): Promise<MockApi> {
	let states: RuleState[] = rules.map((rule) => ({ rule, used: 0 }));
	const requests: MockRequest[] = [];
	const closing = new AbortController();
	const serve = async (request: IncomingMessage, response: ServerResponse) => {
		const path = new URL(request.url ?? "/", "http://mock").pathname;
		const body = request.method === "POST" ? await json(request).catch(() => null) : null;
		const dialect = DIALECTS.find((each) => each.fits(path));
		if (dialect === undefined || body === null) {
			const beside = answerBeside(path, body);
			sendJson(response, beside.status, beside.body);
			return;
		}
		const received = { api: dialect.name, path, headers: headersOf(request), body };
		const asked = { ...received, ...dialect.readRequest(body, path), atMs: Date.now() };
		requests.push(asked);
		const reply = chooseReply(states, asked);
		await perform(reply, { dialect, asked, number: requests.length, response }, closing.signal);
	};
	const server = createServer((request, response) => {
		// An agent that disconnects in the middle is not an error.
		serve(request, response).catch(() => response.destroy());
	});
	// An idle connection that the server closes just as a request arrives would be a fault of its own.
	server.keepAliveTimeout = 600_000;
	const listen = (at: number) =>
		new Promise<void>((resolve, reject) => {
			server.once("error", reject);
			server.listen(at, "127.0.0.1", () => {
				server.off("error", reject);
				resolve();
			});
		});
	await listen(port);
	const { port: taken } = server.address() as AddressInfo;
	const refuse = async () => {
		const closed = new Promise((resolve) => server.close(resolve));
		server.closeAllConnections();
		await closed;
	};
	return {
		url: `http://127.0.0.1:${taken}`,
		requests,
		refuse,
		listen: () => listen(taken),
		script(...more) {
			states = [...more.map((rule) => ({ rule, used: 0 })), ...states];
		},
		reset() {
			states = [];
			requests.length = 0;
		},
		async close() {
			closing.abort();
			await refuse();
		},
	};
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** Other requests of agents: token counts, lists of models. */
function answerBeside(path: string, body: unknown): { status: number; body: unknown } {
	const tokens = Math.ceil(JSON.stringify(body ?? "").length / 4);
	if (path.endsWith("/count_tokens")) return { status: 200, body: { input_tokens: tokens } };
	if (path.endsWith(":countTokens")) return { status: 200, body: { totalTokens: tokens } };
	if (path.endsWith("/models")) {
		const models = [{ id: "mock-1", object: "model", type: "model", display_name: "Mock 1" }];
		const list = { object: "list", data: models, models: [], has_more: false };
		return { status: 200, body: list };
	}
	const message = `the mock model API does not implement ${path}`;
	return { status: 404, body: { error: { type: "not_found_error", message } } };
}

interface Turn {
	readonly dialect: Dialect;
	readonly asked: MockRequest;
	readonly number: number;
	readonly response: ServerResponse;
}

async function perform(reply: MockReply, turn: Turn, closed: AbortSignal): Promise<void> {
	const { response } = turn;
	if ("connection" in reply) {
		if (reply.connection === "reset") response.socket?.resetAndDestroy();
		return;
	}
	if ("garbage" in reply) return sendGarbage(reply, response);
	if ("fails" in reply) return sendFailure(spell(reply, turn.dialect), turn);
	if ("status" in reply) return sendFailure(reply, turn);
	const answer = complete(reply, turn);
	const breaks = reply.breaks ?? null;
	if (breaks === "error" && !turn.asked.isStream) {
		return sendFailure(spell({ fails: "overloaded" }, turn.dialect), turn);
	}
	if (!turn.asked.isStream && breaks === null) {
		return sendJson(response, 200, turn.dialect.answer(answer));
	}
	await sendStream(answer, { pauseMs: reply.pauseMs ?? 0, breaks }, turn, closed);
}

function complete(reply: MockAnswer, turn: Turn): FullAnswer {
	const { text = "", tool = null, refuses = false, usage, pieces = 3 } = reply;
	const { body, model } = turn.asked;
	return {
		id: `mock${turn.number}`,
		model,
		text,
		pieces: cut(text, pieces),
		tool,
		refuses,
		input: usage?.input ?? Math.ceil(JSON.stringify(body).length / 4),
		output: usage?.output ?? Math.max(1, Math.ceil(text.length / 4)),
	};
}

/** A failure in the format and with the text of the service. */
function spell({ fails, wording = 0, ...more }: MockServiceFailure, dialect: Dialect): MockFailure {
	const { messages, ...error } = vendorError(dialect.name, fails);
	const message = messages[wording % messages.length] ?? "";
	return { ...error, message, ...more };
}

function sendGarbage(
	{ garbage, status = 200, contentType = "text/html" }: MockGarbage,
	response: ServerResponse,
): void {
	response.writeHead(status, { "content-type": contentType });
	response.end(garbage);
}

function sendFailure(failure: MockFailure, { dialect, response }: Turn): void {
	const { status, retryAfterSeconds, message = `mock failure ${status}` } = failure;
	const { headers, body } = dialect.fail(failure, message);
	if (retryAfterSeconds !== undefined) {
		response.setHeader("retry-after", String(retryAfterSeconds));
	}
	for (const [name, value] of Object.entries({ ...headers, ...failure.headers })) {
		response.setHeader(name, value);
	}
	sendJson(response, status, body);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(body));
}

const KEEPALIVE_MS = 5_000;
const PING = 'event: ping\ndata: {"type": "ping"}\n\n';

async function sendStream(
	answer: FullAnswer,
	{ pauseMs, breaks }: { pauseMs: number; breaks: MockAnswer["breaks"] | null },
	{ dialect, response }: Turn,
	closed: AbortSignal,
): Promise<void> {
	response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
	const events = dialect.stream(answer);
	const sent = breaks === null ? events : events.slice(0, Math.ceil(events.length / 2));
	for (const event of sent) {
		if (event.isPiece && pauseMs > 0) await sleep(pauseMs, undefined, { signal: closed });
		response.write(written(event));
	}
	if (breaks === "silence") return;
	while (breaks === "keepalive" && !response.destroyed) {
		response.write(dialect.name === "anthropic" ? PING : ": keepalive\n\n");
		await sleep(KEEPALIVE_MS, undefined, { signal: closed });
	}
	if (breaks === "malformed") {
		response.end('data: {"type": "content_bl\n\ndata: }{\n\n');
		return;
	}
	if (breaks === "error") {
		const error = vendorError(dialect.name, "overloaded");
		response.end(written(dialect.failStream(error, error.messages[0] ?? "")));
		return;
	}
	// Written data is flushed before the connection is cut.
	if (breaks === "reset") setImmediate(() => response.socket?.resetAndDestroy());
	else if (breaks === "end") response.socket?.end();
	else response.end(dialect.lastLine === undefined ? "" : `data: ${dialect.lastLine}\n\n`);
}

function written({ event, data }: SseEvent): string {
	const name = event === undefined ? "" : `event: ${event}\n`;
	return `${name}data: ${JSON.stringify(data)}\n\n`;
}
