/**
 * Every route, asked through the typed client and answered as the contract says. A route that is not
 * asked here fails the last test.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CallOptions } from "../../src/client/client.js";
import { type JsonRouteName, ROUTES, type RouteName } from "../../src/http/contract/routes.js";
import { type ApiWorld, createApiWorld, FLEET } from "./api-world.js";

const asked = new Set<string>();

/** Asks, and holds the answer to the contract, where no key may be there that it does not name. */
async function ask<Name extends JsonRouteName>(
	{ client }: ApiWorld,
	name: Name,
	options: CallOptions<Name> = {},
) {
	const reply = await client.call(name, options);
	const { reply: schema } = ROUTES[name];
	expect(schema.parse(reply)).toEqual(reply);
	asked.add(name);
	return reply;
}

const noted = (name: RouteName) => void asked.add(name);

describe("through the typed client", () => {
	test("the daemon says that it is alive, ready and what it is made of", async () => {
		const api = await createApiWorld();
		expect(await ask(api, "GET /health")).toEqual({ status: "ok" });
		expect(await ask(api, "GET /ready")).toEqual({ ready: true, problems: [] });
		expect((await ask(api, "GET /api/v1/daemon")).services).toHaveLength(1);
		expect(await ask(api, "POST /api/v1/daemon/stop", { body: { all: true } })).toMatchObject({
			stopped: [{ id: "p:web" }, { id: "p:db", outcome: "already_stopped" }],
		});
		expect(api.ends.count).toBe(1);
	});

	test("every configured agent is listed, and each can be looked at", async () => {
		const api = await createApiWorld();
		const { agents } = await ask(api, "GET /api/v1/agents");
		expect(agents.map(({ id, desired }) => [id, desired])).toEqual([
			["p:web", "up"],
			["p:db", "down"],
		]);
		const detail = await ask(api, "GET /api/v1/agents/:id", { place: "p:web" });
		expect(detail).toMatchObject({ id: "p:web", exits: [], depends_on: [] });
	});

	test("an agent is stopped, restarted, resumed, typed at and looked at", async () => {
		const api = await createApiWorld();
		const down = await ask(api, "POST /api/v1/agents/:scope/down", { place: "p", body: {} });
		expect(down.agents.map(({ outcome }) => outcome)).toEqual(["graceful", "already_stopped"]);
		await ask(api, "POST /api/v1/agents/:scope/restart", { place: "p:web", body: { fresh: true } });
		await api.world.settle();
		const body = { text: "hello", submit: true };
		const { bytes } = await ask(api, "POST /api/v1/agents/:id/send", { place: "p:web", body });
		expect(bytes).toBe(5);
		await ask(api, "GET /api/v1/agents/:id/screen", { place: "p:web" });
		const { from } = await ask(api, "POST /api/v1/agents/:id/resume", { place: "p:web" });
		expect(from).toBe("healthy");
	});

	test("an agent that ended by itself is told what follows", async () => {
		const api = await createApiWorld();
		api.world.backend.script("p:web", { livesMs: 10, code: 0 });
		await ask(api, "POST /api/v1/agents/:scope/restart", { place: "p:web", body: {} });
		await api.world.pass(1_000);
		const answer = { place: "p:web", body: { answer: "stop" as const } };
		const { outcome } = await ask(api, "POST /api/v1/agents/:id/answer", answer);
		expect(outcome).toBe("stopped");
	});

	test("a fleet is taken on and reloaded", async () => {
		const api = await createApiWorld();
		const up = await ask(api, "POST /api/v1/fleet/up", { body: { fleet: FLEET, scope: "p:db" } });
		expect(up.agents).toMatchObject([{ id: "p:db", outcome: "started" }]);
		const body = { fleet: { ...FLEET, agents: FLEET.agents.slice(0, 1) }, dry_run: true };
		const { changes } = await ask(api, "POST /api/v1/fleet/reload", { body });
		expect(changes).toMatchObject([{ change: "keep" }, { id: "p:db", change: "remove" }]);
	});

	test("events and logs are streamed", async () => {
		const { client, logs } = await createApiWorld();
		const types: string[] = [];
		for await (const { type } of client.events({ after: 0, follow: false })) types.push(type);
		noted("GET /api/v1/events");
		expect(types.slice(0, 2)).toEqual(["agent.added", "agent.added"]);
		writeFileSync(join(logs, "current.log"), "one\ntwo\nthree\n");
		let written = "";
		for await (const part of client.logs("p:web", { lines: 2, follow: false })) written += part;
		noted("GET /api/v1/agents/:id/logs");
		expect(written).toBe("two\nthree\n");
	});

	test("a terminal is opened", async () => {
		const { client } = await createApiWorld();
		const socket = await client.terminal("p:web", { columns: 80, rows: 24, readOnly: true });
		const first = await new Promise((resolve) => {
			socket.on("message", (data, isBinary) => isBinary || resolve(JSON.parse(String(data))));
			socket.resume();
		});
		expect(first).toMatchObject({ type: "snapshot" });
		socket.terminate();
		noted("GET /api/v1/agents/:id/terminal");
	});

	test("tokens are made, listed, shown, put anew and taken away", async () => {
		const api = await createApiWorld();
		const made = await ask(api, "POST /api/v1/tokens", {
			body: { scope: "agent:p:web", expires_in_ms: 60_000 },
		});
		expect(made.info).toMatchObject({ scope: "agent:p:web", kind: "token" });
		const { token } = await ask(api, "GET /api/v1/tokens/default");
		expect(await ask(api, "POST /api/v1/tokens/rotate")).not.toEqual({ token });
		expect((await ask(api, "GET /api/v1/tokens")).tokens).toHaveLength(2);
		await ask(api, "POST /api/v1/tokens/:id/revoke", { place: made.info.id });
		expect((await ask(api, "GET /api/v1/tokens")).tokens).toHaveLength(1);
	});

	test("a browser is let in by a link, and out again", async () => {
		const api = await createApiWorld();
		const { path } = await ask(api, "POST /api/v1/login-links", { body: {} });
		const headers = { host: `localhost:${api.port}` };
		expect((await api.rawNetwork({ path, headers })).status).toBe(303);
		noted("GET /login");
		expect(await ask(api, "POST /api/v1/logout")).toEqual({ logged_out: false });
	});

	test("the API describes itself", async () => {
		const { client } = await createApiWorld();
		const { openapi, info } = await client.openApi();
		expect({ openapi, info }).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
		noted("GET /api/v1/openapi.json");
	});
});

test("no route was left out above", () => {
	expect(Object.keys(ROUTES).filter((name) => !asked.has(name))).toEqual([]);
});
