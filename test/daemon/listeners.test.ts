/** No object that lives as long as the daemon accumulates listeners. */

import { defaultMaxListeners, getEventListeners, once } from "node:events";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { socketService } from "../../src/daemon/socket-service.js";
import { resolveHome } from "../../src/home/paths.js";
import { createApiWorld } from "../http/api-world.js";
import { temporaryFolder } from "../support/reeve.js";

test("the socket is checked without a listener for each check", async () => {
	const stop = new AbortController();
	const home = resolveHome({ REEVE_HOME: temporaryFolder() });
	const api = { serve: () => async () => {} };
	const claim = { look: () => "held" as const };
	const service = socketService(api as never, home, claim as never);
	let running: Promise<void> = Promise.resolve();
	await new Promise<void>((ready) => {
		running = service.run(stop.signal, ready);
	});
	const atFirst = getEventListeners(stop.signal, "abort").length;
	await sleep(3_300);
	expect(getEventListeners(stop.signal, "abort").length).toBeLessThanOrEqual(atFirst);
	stop.abort();
	await running;
});

test("many open requests of one token and of the socket cause no warning", async () => {
	const warnings: string[] = [];
	const note = ({ message }: Error) => warnings.push(message);
	process.on("warning", note);
	onTestFinished(() => void process.off("warning", note));
	const { port, socketPath, tokens } = await createApiWorld();
	const headers = { authorization: `Bearer ${await tokens.showDefault()}` };
	const path = "/api/v1/events?follow=1";
	const open = async (to: object) => {
		const going = request({ ...to, path, headers: { ...headers, accept: "text/event-stream" } });
		going.on("error", () => {});
		onTestFinished(() => void going.destroy());
		going.end();
		const [response] = await once(going, "response");
		expect(response.statusCode).toBe(200);
	};
	for (let n = 0; n <= defaultMaxListeners; n++) {
		await open({ host: "127.0.0.1", port });
		await open({ socketPath });
	}
	await sleep(50);
	expect(warnings).toEqual([]);
});
