/** `ready: { http }` under a real daemon. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createFleetHome, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

const find = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;

test("an agent is ready when its URL answers with success, not with an error", {
	timeout: 120_000,
}, async () => {
	let status = 503;
	let requests = 0;
	const server = createServer((request, reply) => {
		requests += 1;
		reply.statusCode = request.url === "/healthz" ? status : 404;
		reply.end();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	try {
		const { port } = server.address() as AddressInfo;
		home.writeFleet(
			`a: { command: [sleep, '1000'], ready: { http: "http://127.0.0.1:${port}/healthz" } }`,
		);
		const early = await home.reeve("up", "--wait", "--timeout", "3s");
		expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining("not ready after 3s") });
		expect(requests).toBeGreaterThan(0);
		expect(await find("p:a")).toMatchObject({ process: "running", ready: false });
		status = 204;
		expect(await home.reeve("up", "--wait", "--timeout", "60s")).toMatchObject({ code: 0 });
		expect(await find("p:a")).toMatchObject({ ready: true });
	} finally {
		server.close();
	}
});

test("validate refuses what is not an HTTP URL, and a second condition", {
	timeout: 60_000,
}, async () => {
	home.writeFleet(`a: { command: [x], ready: { http: "ftp://host/x" } }
b: { command: [x], ready: { http: "http://127.0.0.1:1", port: 1 } }`);
	const { code, stdout, stderr } = await home.reeve("validate");
	expect(code).not.toBe(0);
	expect(stdout + stderr).toMatch(/not a valid HTTP URL/);
	expect(stdout + stderr).toMatch(/`ready` has 2 conditions/);
});
