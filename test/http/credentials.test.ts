/** Open connections end with the credential that opened them (A8). */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import WebSocket from "ws";
import { eventually } from "../faults/fleet-home.js";
import { type ApiWorld, COOKIE, createApiWorld } from "./api-world.js";

interface Credential {
	readonly headers: Readonly<Record<string, string>>;
	/** Makes it invalid. */
	end(): Promise<void>;
}

const OPERATE = { type: "operate" } as const;

/** Every way in which a credential becomes invalid. */
const WAYS: Readonly<Record<string, (api: ApiWorld) => Promise<Credential>>> = {
	async revoked({ tokens, client }) {
		const { token, info } = await tokens.create({
			...{ kind: "token", scope: OPERATE, expiresAtMs: null },
		});
		return {
			headers: { authorization: `Bearer ${token}` },
			end: async () =>
				void (await client.call("POST /api/v1/tokens/:id/revoke", { place: info.id })),
		};
	},
	async rotated({ tokens, client }) {
		return {
			headers: { authorization: `Bearer ${await tokens.showDefault()}` },
			end: async () => void (await client.call("POST /api/v1/tokens/rotate")),
		};
	},
	async expired({ tokens, world }) {
		const expiresAtMs = world.clock.now().wallMs + 3_600_000;
		const { token } = await tokens.create({ kind: "token", scope: OPERATE, expiresAtMs });
		return {
			headers: { authorization: `Bearer ${token}` },
			end: async () => world.clock.advance(3_600_001),
		};
	},
	async "logged out"({ tokens, port, rawNetwork }) {
		const { token } = await tokens.create({ kind: "session", scope: OPERATE, expiresAtMs: null });
		const host = `127.0.0.1:${port}`;
		const headers = { host, cookie: `${COOKIE}=${token}`, origin: `http://${host}` };
		return {
			headers,
			end: async () => void (await rawNetwork({ method: "POST", path: "/api/v1/logout", headers })),
		};
	},
	async "crowded out by newer sessions"({ tokens, port }) {
		const login = () => tokens.create({ kind: "session", scope: OPERATE, expiresAtMs: null });
		const { token } = await login();
		const host = `127.0.0.1:${port}`;
		return {
			headers: { host, cookie: `${COOKIE}=${token}`, origin: `http://${host}` },
			async end() {
				for (let n = 0; n < 50; n++) await login();
			},
		};
	},
};

interface Opened {
	/** Bytes or messages that have arrived. */
	received(): number;
	isClosed(): boolean;
	readonly status: number;
	body(): string;
}

async function open(
	{ port }: ApiWorld,
	path: string,
	headers: Credential["headers"],
): Promise<Opened> {
	const sent = request({ host: "127.0.0.1", port, path, headers, agent: false });
	sent.end();
	let [body, closed, status] = ["", false, 0];
	sent.on("error", () => {});
	sent.on("close", () => {
		closed = true;
	});
	sent.on("response", (response) => {
		status = response.statusCode ?? 0;
		response.on("data", (chunk: Buffer) => {
			body += chunk;
		});
		response.on("error", () => {});
	});
	return {
		received: () => body.length,
		isClosed: () => closed,
		body: () => body,
		get status() {
			return status;
		},
	};
}

const typed = ({ world }: ApiWorld) =>
	Buffer.from(world.backend.typed(world.engine.get("p:web").run?.runId ?? "")).toString();

describe.each(Object.keys(WAYS))("a credential that is %s", { timeout: 60_000 }, (way) => {
	const prepare = async () => {
		const api = await createApiWorld();
		const credential = await WAYS[way]?.(api);
		if (credential === undefined) throw new Error(way);
		return { api, credential };
	};

	test("can no longer type or watch over an open WebSocket (A8)", async () => {
		const { api, credential } = await prepare();
		const url = `ws://127.0.0.1:${api.port}/api/v1/agents/p:web/terminal`;
		const socket = new WebSocket(url, { headers: credential.headers });
		const reported: string[] = [];
		let bytes = 0;
		socket.on("message", (data: Buffer, isBinary) => {
			if (isBinary) bytes += data.length;
			else reported.push(String(data));
		});
		await once(socket, "open");
		socket.send(Buffer.from("before "));
		await eventually(() => typed(api) === "before ", "typing works");
		const closed = once(socket, "close");
		await credential.end();
		socket.send(Buffer.from("after"));
		const [code] = await closed;
		expect(code).toBe(1008);
		expect(reported.at(-1)).toContain("no longer valid");
		const seen = bytes;
		api.world.backend.print(api.world.engine.get("p:web").run?.runId ?? "", "secret");
		await new Promise((resolve) => setTimeout(resolve, 100));
		expect(bytes).toBe(seen);
		expect(typed(api)).toBe("before ");
	});

	test("no longer receives events (A8)", async () => {
		const { api, credential } = await prepare();
		const stream = await open(api, "/api/v1/events?follow=1", credential.headers);
		await eventually(() => stream.received() > 0, "events arrive");
		await credential.end();
		await eventually(() => stream.isClosed(), "the stream is closed");
		expect(stream.body()).toContain("no longer valid");
	});

	test("no longer receives an agent's output (A8)", async () => {
		const { api, credential } = await prepare();
		const log = join(api.logs, "current.log");
		writeFileSync(log, "before\n");
		const stream = await open(api, "/api/v1/agents/p:web/logs?follow=1", credential.headers);
		await eventually(() => stream.body() === "before\n", "the output arrives");
		await credential.end();
		await eventually(() => stream.isClosed(), "the stream is closed");
		writeFileSync(log, "before\nafter\n");
		expect(stream.body()).toBe("before\n");
	});

	test("no longer receives an agent's screen (A8)", async () => {
		const { api, credential } = await prepare();
		const runId = api.world.engine.get("p:web").run?.runId ?? "";
		api.world.backend.print(runId, "before");
		const path = "/api/v1/agents/p:web/screen/stream";
		const stream = await open(api, path, credential.headers);
		await eventually(() => stream.body().includes("before"), "the screen arrives");
		await credential.end();
		await eventually(() => stream.isClosed(), "the stream is closed");
		api.world.backend.print(runId, "secret");
		await new Promise((resolve) => setTimeout(resolve, 150));
		expect(stream.body()).not.toContain("secret");
	});

	test("no longer waits for a task's result (A8)", async () => {
		const { api, credential } = await prepare();
		const body = { agent: "p:tool", action: "hang" };
		const { task_id: id } = await api.client.call("POST /api/v1/tasks", { body });
		const wait = await open(api, `/api/v1/tasks/${id}?wait=600s`, credential.headers);
		await new Promise((resolve) => setTimeout(resolve, 100));
		expect(wait.status).toBe(0);
		await credential.end();
		await eventually(() => wait.isClosed(), "the request is answered");
		expect(wait.status).toBe(401);
	});

	test("leaves no login link that still works, and no session of a token (A8)", async () => {
		const { api, credential } = await prepare();
		const host = `127.0.0.1:${api.port}`;
		const headers = { host, ...credential.headers, "content-type": "application/json" };
		const login = async () => {
			const path = "/api/v1/login-links";
			const link = await api.rawNetwork({ method: "POST", path, headers, body: "{}" });
			return (JSON.parse(link.body) as { path: string }).path;
		};
		const [used, unused] = [await login(), await login()];
		const { status, headers: sent } = await api.rawNetwork({ path: used, headers: { host } });
		expect(status).toBe(303);
		const cookie = sent["set-cookie"]?.[0]?.split(";")[0] ?? "";
		const look = () => api.rawNetwork({ path: "/api/v1/agents", headers: { host, cookie } });
		expect((await look()).status).toBe(200);
		await credential.end();
		expect((await api.rawNetwork({ path: unused, headers: { host } })).status).toBe(401);
		// A browser that logged in another one may log out without it.
		if ("authorization" in credential.headers) expect((await look()).status).toBe(401);
	});

	test("does not act on a body that arrives later (A8)", async () => {
		const { api, credential } = await prepare();
		const text = JSON.stringify({ agent: "p:tool", action: "echo" });
		const socket = connect(api.port, "127.0.0.1");
		const headers = { host: `127.0.0.1:${api.port}`, ...credential.headers };
		socket.write(
			[
				"POST /api/v1/tasks HTTP/1.1",
				...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
				"content-type: application/json",
				`content-length: ${text.length}`,
				"\r\n",
			].join("\r\n"),
		);
		let answer = "";
		socket.on("data", (chunk) => {
			answer += chunk;
		});
		await new Promise((resolve) => setTimeout(resolve, 100));
		await credential.end();
		socket.write(text);
		await eventually(() => answer.includes("\r\n\r\n"), "it is answered");
		expect(answer).toMatch(/^HTTP\/1.1 401 /);
		expect(api.world.store.readTasks({ limit: 10 })).toEqual([]);
		socket.destroy();
	});
});
