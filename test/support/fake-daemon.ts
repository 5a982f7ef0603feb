/**
 * A scripted daemon: a real HTTP and WebSocket server on a real socket that implements the contract. A
 * request without a script is an error that names it.
 */

import { mkdirSync } from "node:fs";
import {
	createServer,
	type IncomingMessage,
	type RequestListener,
	type ServerResponse,
} from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { ERRORS, ReeveError } from "../../src/core/errors.js";
import type { ReeveEvent } from "../../src/core/events.js";
import type { JsonRouteName, Routes } from "../../src/http/contract/routes.js";
import { temporaryFolder } from "./reeve.js";

type Answers = {
	readonly [Name in JsonRouteName]?: (
		place: string,
		body: Routes[Name]["body"],
	) => Routes[Name]["reply"] | Promise<Routes[Name]["reply"]>;
};

interface Streams {
	/** The stored events; with `follow`, the stream stays open until the test ends it. */
	readonly events?: (query: URLSearchParams) => readonly ReeveEvent[];
	readonly logs?: (id: string, query: URLSearchParams) => readonly (string | Uint8Array)[];
	readonly terminal?: (socket: WebSocket, id: string, query: URLSearchParams) => void;
	/** Before all else: true when it has dealt with the request. */
	readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface Call {
	readonly name: string;
	readonly place: string;
	readonly body: unknown;
}

export interface FakeDaemon {
	readonly home: string;
	readonly env: Record<string, string>;
	/** The requests it was sent, in order. */
	readonly calls: Call[];
	close(): Promise<void>;
}

export async function startFakeDaemon(
	answers: Answers,
	streams: Streams = {},
	home = temporaryFolder(),
): Promise<FakeDaemon> {
	mkdirSync(home, { recursive: true });
	const calls: Call[] = [];
	const server = createServer(listener({ "GET /health": () => ({ status: "ok" }), ...answers }));
	const sockets = new WebSocketServer({ noServer: true });

	function listener(known: Answers): RequestListener {
		return (request, response) => {
			if (streams.intercept?.(request, response)) return;
			serve(known, request, response).catch((error: unknown) => refuse(response, error));
		};
	}

	async function serve(known: Answers, request: IncomingMessage, response: ServerResponse) {
		const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
		const body = request.method === "POST" ? await json(request) : undefined;
		const { name, place } = nameOf(request.method ?? "", pathname);
		calls.push({ name, place, body });
		if (name === "GET /api/v1/events" && streams.events) {
			const events = streams.events(searchParams);
			for (const event of events) {
				response.write(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
			}
			response.end();
		} else if (name === "GET /api/v1/agents/:id/logs" && streams.logs) {
			for (const chunk of streams.logs(place, searchParams)) {
				response.write(chunk);
				await new Promise((resolve) => setTimeout(resolve, 5));
			}
			response.end();
		} else {
			const answer = known[name as JsonRouteName] as
				| ((place: string, body: unknown) => unknown)
				| undefined;
			if (answer === undefined) throw new ReeveError("internal", `unexpected request ${name}`);
			response.setHeader("content-type", "application/json");
			response.end(JSON.stringify(await answer(place, body)));
		}
	}

	server.on("upgrade", (request, raw, head) => {
		const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
		const { place } = nameOf("GET", pathname);
		sockets.handleUpgrade(request, raw, head, (socket) =>
			streams.terminal?.(socket, place, searchParams),
		);
	});
	await new Promise<void>((resolve) => server.listen(join(home, "reeve.sock"), resolve));
	const close = async () => {
		for (const socket of sockets.clients) socket.terminate();
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	};
	onTestFinished(close);
	return { home, env: { REEVE_HOME: home }, calls, close };
}

/** The route of the contract, and the value of its `:id` or `:scope`. */
function nameOf(method: string, path: string): { name: string; place: string } {
	const [, place = "", rest = ""] = /^\/api\/v1\/agents\/([^/]+)(\/.*)?$/.exec(path) ?? [];
	if (place === "") return { name: `${method} ${path}`, place: "" };
	const kind = rest === "/down" || rest === "/restart" ? ":scope" : ":id";
	const pattern = rest.replace(/^\/questions\/[^/]+\//, "/questions/:question/");
	const name = `${method} /api/v1/agents/${kind}${pattern}`;
	return { name, place: decodeURIComponent(place) };
}

function refuse(response: ServerResponse, error: unknown): void {
	const known = error instanceof ReeveError ? error : new ReeveError("internal", String(error));
	const { code, message, hint } = known;
	response.statusCode = ERRORS[code].httpStatus;
	response.end(JSON.stringify({ error: { code, message, hint } }));
}
