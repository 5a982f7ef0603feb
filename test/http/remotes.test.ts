/** Requests that are forwarded to the daemon of another host: which headers are forwarded, and which are not. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import {
	createServer,
	type IncomingMessage,
	type RequestListener,
	request,
	type Server,
} from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createMergedClient } from "../../src/client/merged-client.js";
import { eventually } from "../faults/fleet-home.js";
import { temporaryFolder } from "../support/reeve.js";
import { COOKIE, createApiWorld, createNoRemotes } from "./api-world.js";

/** An API whose remote `box` is this server. */
async function connectTo(listener: RequestListener) {
	const socketPath = join(temporaryFolder(), "box.sock");
	const server = createServer(listener);
	server.listen(socketPath);
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const removed = new AbortController();
	const target = async () => ({ socketPath, removed: removed.signal });
	const api = await createApiWorld(undefined, { remotes: { ...createNoRemotes(), target } });
	return { api, server, socketPath, removed };
}

test("credentials stay here, and a remote can set neither cookies nor the type of a page", async () => {
	const seen: IncomingMessage[] = [];
	const { api } = await connectTo((request, response) => {
		seen.push(request);
		response.setHeader("content-type", "text/html");
		response.setHeader("set-cookie", `${COOKIE}=stolen`);
		response.setHeader("access-control-allow-origin", "*");
		response.end("<script>alert(1)</script>");
	});
	const token = await api.tokens.showDefault();
	const host = `127.0.0.1:${api.port}`;
	const response = await fetch(`http://${host}/remotes/box/api/v1/agents?project=p`, {
		headers: { authorization: `Bearer ${token}`, cookie: "a=b", "if-none-match": 'W/"1"' },
	});
	expect(response.status).toBe(200);
	expect(response.headers.get("content-type")).toBe("application/octet-stream");
	expect(response.headers.get("set-cookie")).toBeNull();
	expect(response.headers.get("access-control-allow-origin")).toBeNull();
	expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
	expect(seen.map(({ url }) => url)).toEqual(["/api/v1/agents?project=p"]);
	expect(seen[0]?.headers).toMatchObject({ "if-none-match": 'W/"1"' });
	expect(seen[0]?.headers).not.toHaveProperty("authorization");
	expect(seen[0]?.headers).not.toHaveProperty("cookie");
});

test("a change whose answer is lost may have been made, a read has failed", async () => {
	const { api } = await connectTo((request) => request.socket.destroy());
	const box = createClient({ socketPath: api.socketPath, remote: "box" });
	await expect(box.call("POST /api/v1/daemon/reload")).rejects.toMatchObject({
		code: "connection_lost",
		message: expect.stringContaining("unknown whether the request was carried out"),
	});
	await expect(box.call("GET /api/v1/agents")).rejects.toMatchObject({
		code: "remote_unreachable",
		message: "box does not answer: it closed the connection",
	});
});

test("a response that is cut off is not mistaken for a whole one", async () => {
	const { api } = await connectTo((request, response) => {
		response.writeHead(200, { "content-type": "application/json", "content-length": 100 });
		response.write('{"agents":[');
		setTimeout(() => request.socket.destroy(), 50);
	});
	const box = createClient({ socketPath: api.socketPath, remote: "box" });
	await expect(box.call("GET /api/v1/agents")).rejects.toMatchObject({ code: "connection_lost" });
});

test("a remote that never answers delays a list by its own limit only", async () => {
	const { api } = await connectTo(() => {});
	const silent: string[] = [];
	const own = createClient({ socketPath: api.socketPath });
	const client = createMergedClient({
		...{ own, remotes: ["box"] },
		open: (remote) => createClient({ socketPath: api.socketPath, remote }),
		onSilent: (_, { message }) => silent.push(message),
	});
	const { agents } = await client.call("GET /api/v1/agents");
	expect(agents.map(({ id }) => id)).toContain("p:web");
	expect(silent).toEqual(["box does not answer in time"]);
});

/** Upgrade requests that reached the remote, and how many of their connections are open. */
function upgradesOf(server: Server, answer: (request: IncomingMessage, socket: Duplex) => void) {
	const open = new Set<Duplex>();
	server.on("upgrade", (request, socket) => {
		open.add(socket);
		socket.on("close", () => open.delete(socket));
		socket.on("error", () => {});
		// Sockets of a server stay half open otherwise.
		socket.on("end", () => socket.end()).resume();
		answer(request, socket);
	});
	return open;
}

const SIZE = { columns: 80, rows: 24, readOnly: false };

test("a caller that gives up a terminal leaves no connection to a remote that does not answer", async () => {
	const { api, server } = await connectTo(() => {});
	const open = upgradesOf(server, () => {});
	const headers = {
		...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
		"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
	};
	const path = "/remotes/box/api/v1/agents/p:web/terminal";
	const callers = Array.from({ length: 5 }, () => {
		const caller = request({ socketPath: api.socketPath, path, headers });
		caller.on("error", () => {});
		caller.end();
		return caller;
	});
	await eventually(() => open.size === 5, "all requests have arrived");
	for (const caller of callers) caller.destroy();
	await eventually(() => open.size === 0, "all connections to the remote are closed");
});

test("A8: removing a remote ends its open terminals and streams", async () => {
	const { api, server, removed } = await connectTo((_, response) => {
		response.writeHead(200, { "content-type": "text/event-stream" });
		response.write(": open\n\n");
	});
	const open = upgradesOf(server, (asked, socket) => {
		const hash = createHash("sha1").update(
			`${asked.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
		);
		socket.write(
			`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${hash.digest("base64")}\r\n\r\n`,
		);
	});
	const box = createClient({ socketPath: api.socketPath, remote: "box" });
	const terminal = await box.terminal("p:web", SIZE);
	let isClosed = false;
	terminal.on("close", () => {
		isClosed = true;
	});
	terminal.resume();
	const events = box.events({ after: 0, follow: true, reconnectForMs: 0 }).next();
	const ended = expect(events).rejects.toMatchObject({ code: "connection_lost" });
	await eventually(async () => (await connectionsOf(server)) === 2, "both are open");
	removed.abort();
	await ended;
	await eventually(() => isClosed && open.size === 0, "the terminal is closed at both ends");
});

test("S19: an action that a remote refuses, or does not finish, is recorded as failed", async () => {
	const { api } = await connectTo((asked, response) => {
		if (asked.url?.includes("reload")) {
			response.writeHead(200, { "content-type": "application/json", "content-length": 100 });
			response.write("{");
			return void setTimeout(() => response.destroy(), 20);
		}
		const body = JSON.stringify({ error: { code: "agent_not_found", message: "no such agent" } });
		const isKnown = asked.url?.includes("web") === true;
		response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" });
		response.end(isKnown ? "{}" : body);
	});
	const box = createClient({ socketPath: api.socketPath, remote: "box" });
	await box.call("POST /api/v1/agents/:id/resume", { place: "p:web" });
	await expect(
		box.call("POST /api/v1/agents/:id/resume", { place: "p:gone" }),
	).rejects.toMatchObject({ code: "agent_not_found" });
	await expect(box.call("POST /api/v1/daemon/reload")).rejects.toThrow();
	const acts = () =>
		api.world.store
			.readEvents({ afterSeq: 0, limit: 1_000 })
			.flatMap((event) => (event.type === "operator.acted" ? [event.data.error] : []));
	await eventually(() => acts().length === 3, "all actions are recorded");
	expect(acts()).toEqual([null, "agent_not_found", "connection_lost"]);
});

test("a remote that refuses the token of this daemon does not log the caller out", async () => {
	const { api } = await connectTo((_, response) => {
		response.writeHead(401, { "content-type": "application/json" });
		response.end(JSON.stringify({ error: { code: "unauthorized", message: "no" } }));
	});
	const answer = await api.raw({ path: "/remotes/box/api/v1/agents" });
	expect(answer.status).toBe(503);
	expect(JSON.parse(answer.body).error).toMatchObject({
		code: "remote_unreachable",
		message: "box refuses its token",
	});
});

test("a status that is none is an unreachable remote, not a failure of this daemon", async () => {
	const { api, server } = await connectTo(() => {});
	server.removeAllListeners("request");
	server.on("connection", (socket) => {
		socket.on("error", () => {});
		socket.write("HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n");
	});
	const answer = await api.raw({ path: "/remotes/box/api/v1/agents" });
	expect(answer.status).toBe(503);
	expect(api.failures).toEqual([]);
});

test("A6: a client reads no endless response, and a line without an end once", async () => {
	const { api } = await connectTo((_, response) => {
		response.writeHead(404, { "content-type": "application/json" });
		const chunk = Buffer.alloc(1_048_576, "x");
		const more = () => {
			while (!response.destroyed && response.write(chunk));
		};
		response.on("drain", more);
		more();
	});
	const box = createClient({ socketPath: api.socketPath, remote: "box" });
	const asked = box.call("GET /api/v1/agents", { signal: AbortSignal.timeout(60_000) });
	await expect(asked).rejects.toThrow("more than 8388608 bytes");
	const events = box.events({ after: 0, follow: false });
	await expect(events.next()).rejects.toThrow("more than 8388608 bytes");
});

const connectionsOf = (server: Server) =>
	new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));

test("a terminal of a remote is read-only for a token that reads", async () => {
	const asked: (string | undefined)[] = [];
	const { api, server } = await connectTo((_, response) => response.end());
	server.on("upgrade", (request, socket) => {
		asked.push(request.url);
		socket.end("HTTP/1.1 404 Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
	});
	const make = async (type: "read" | "operate") =>
		(await api.tokens.create({ kind: "token", scope: { type }, expiresAtMs: null })).token;
	for (const type of ["read", "operate"] as const) {
		const url = `http://127.0.0.1:${api.port}`;
		const client = createClient({ url, token: await make(type), remote: "box" });
		await expect(client.terminal("p:web", SIZE)).rejects.toThrow();
	}
	expect(asked.map((path) => path?.includes("ro=1"))).toEqual([true, false]);
});
