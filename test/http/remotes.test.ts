/** Requests that are passed on to the daemon of another host: what crosses, and what does not. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createMergedClient } from "../../src/client/merged-client.js";
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
	const remotes = { ...createNoRemotes(), target: async () => ({ socketPath }) };
	const api = await createApiWorld(undefined, { remotes });
	return { api, server, socketPath };
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
		const size = { columns: 80, rows: 24, readOnly: false };
		await expect(client.terminal("p:web", size)).rejects.toThrow();
	}
	expect(asked.map((path) => path?.includes("ro=1"))).toEqual([true, false]);
});
