/** Connections that send nothing, or only a part of a request, do not keep real clients out. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestOptions, request, type Server } from "node:http";
import { createServer as createSecureServer, request as secureRequest } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { limitIdleConnections } from "../../src/http/connections.js";
import { createApiWorld } from "./api-world.js";

/** More than the listener's limit. */
const FLOOD = 1_100;

async function openMany(port: number, count: number, bytes: string): Promise<readonly Socket[]> {
	const sockets = Array.from({ length: count }, () => {
		const socket = connect(port, "127.0.0.1");
		socket.on("error", () => {});
		if (bytes !== "") socket.write(bytes);
		return socket;
	});
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy();
	});
	await Promise.all(
		sockets.map(
			(socket) =>
				new Promise<void>((resolve) => {
					socket.once("connect", resolve);
					socket.once("close", () => resolve());
				}),
		),
	);
	return sockets;
}

const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;

/** Every read ends, so that a socket that the server closed is seen as closed. */
async function settle(sockets: readonly Socket[]): Promise<readonly Socket[]> {
	for (const socket of sockets) socket.resume();
	await new Promise((resolve) => setTimeout(resolve, 200));
	return sockets.filter(isOpen);
}

test.each([
	["nothing", ""],
	["a part of the headers", "GET /health HTTP/1.1\r\nhost: local"],
])(
	"a client is served while %s comes over more connections than the limit",
	{
		timeout: 60_000,
	},
	async (_, bytes) => {
		const { port, rawNetwork } = await createApiWorld();
		const sockets = await openMany(port, FLOOD, bytes);
		const answer = await rawNetwork({ path: "/health" });
		expect(answer.status).toBe(200);
		// Not because all of them ran into their timeout in the meantime.
		expect((await settle(sockets)).length).toBeGreaterThan(0);
	},
);

interface Limited {
	readonly server: Server;
	readonly port: number;
	/** Ends the requests that wait. */
	readonly finish: () => void;
}

async function listen(server: Server): Promise<Limited> {
	const waiting: (() => void)[] = [];
	limitIdleConnections(server, 3);
	server.on("request", (asked, response) => {
		if (asked.url === "/wait") waiting.push(() => response.end("waited"));
		else response.end("at once");
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return {
		server,
		port,
		finish: () => {
			for (const end of waiting) end();
		},
	};
}

const SECURE = {
	key: readFileSync("test/fixtures/tls/key.pem"),
	cert: readFileSync("test/fixtures/tls/cert.pem"),
};

test.each([
	["http", () => createServer(), request],
	["https", () => createSecureServer(SECURE), secureRequest],
] as const)(
	"%s: the oldest idle connection is closed, open requests are not",
	async (_, create, ask) => {
		const { server, port, finish } = await listen(create());
		const get = (path: string) => {
			const options: RequestOptions & { rejectUnauthorized: boolean } = {
				...{ host: "127.0.0.1", port, path, agent: false, rejectUnauthorized: false },
			};
			return new Promise<string>((resolve, reject) => {
				ask(options, (response) => resolve(text(response)))
					.on("error", reject)
					.end();
			});
		};
		const slow = get("/wait");
		await once(server, "request");
		const [first, ...others] = [
			...(await openMany(port, 1, "")),
			...(await openMany(port, 1, "")),
			...(await openMany(port, 1, "")),
			...(await openMany(port, 1, "")),
		];
		const open = await settle([first as Socket, ...others]);
		expect(open).toEqual(others);
		expect(await get("/")).toBe("at once");
		finish();
		expect(await slow).toBe("waited");
	},
);

test("an address with many connections does not displace one with few", async () => {
	const { port } = await listen(createServer());
	const other = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
	other.on("error", () => {});
	onTestFinished(() => void other.destroy());
	await once(other, "connect");
	const many = await openMany(port, 20, "");
	expect(await settle([other])).toEqual([other]);
	expect((await settle(many)).length).toBe(2);
});
