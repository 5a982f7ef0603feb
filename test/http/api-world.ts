/** The API over an engine in memory: a real server on a real socket, and the typed client. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import { classifyProcessFailure } from "../../src/core/outcome.js";
import { Calls } from "../../src/engine/calls/calls.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { createHttpServer } from "../../src/http/server.js";
import type { Clock } from "../../src/ports/clock.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "../engine/daemon-world.js";
import { daemonJson } from "../support/agents.js";
import { temporaryFolder } from "../support/reeve.js";

export interface ApiWorld {
	readonly world: DaemonWorld;
	readonly socketPath: string;
	readonly client: Client;
	/** Where logs of agents are looked for. */
	readonly logs: string;
	/** How often the daemon was told to end. */
	readonly ends: { count: number };
	/** What failed in a way that nobody is told of. */
	readonly failures: unknown[];
	/** A request as any program could send it. */
	raw(options: RawRequest): Promise<RawAnswer>;
}

export interface RawRequest {
	readonly method?: string;
	readonly path: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body?: string | Buffer;
}

export interface RawAnswer {
	readonly status: number;
	readonly headers: IncomingMessage["headers"];
	readonly body: string;
}

/** An API over a fleet: `p:web` runs, `p:db` does not, and `p:tool` takes requests. */
export async function createApiWorld(): Promise<ApiWorld> {
	const world = await createDaemonWorld();
	const folder = temporaryFolder();
	const [socketPath, logs] = [join(folder, "reeve.sock"), join(folder, "logs")];
	mkdirSync(logs);
	const ends = { count: 0 };
	const failures: unknown[] = [];
	const status = (): DaemonJson => daemonJson(folder);
	const clock = {
		now: world.clock.now,
		schedule: (ms: number, task: () => void) => {
			const timer = setTimeout(task, ms);
			return () => clearTimeout(timer);
		},
	};
	const calls = createEchoCalls(world, clock);
	const http = createHttpServer({
		engine: world.engine,
		calls,
		store: world.store,
		clock,
		host: "here",
		version: "1.2.3",
		status,
		shutDown: () => {
			ends.count += 1;
		},
		logDirOf: () => logs,
		onError: (error) => failures.push(error),
	});
	http.server.listen(socketPath);
	await once(http.server, "listening");
	onTestFinished(async () => {
		http.server.closeAllConnections();
		await http.close();
	});
	await world.engine.up(FLEET, "p:web");
	await world.settle();
	const raw = (options: RawRequest) => rawRequest({ socketPath }, options);
	return {
		...{ world, socketPath, logs, ends, failures, raw },
		client: createClient({ socketPath }),
	};
}

export const FLEET = fleetOf(`web: { command: [web] }
db: { command: [db] }
tool: { kind: call, command: [tool], retry: { max_attempts: 1 } }`);

/** Calls to agents that answer with what they were given, or fail when asked to. */
function createEchoCalls({ engine, store }: DaemonWorld, clock: Clock): Calls {
	return new Calls({
		...{ store, clock, random: Math.random, newId: randomUUID, concurrency: 16 },
		specOf: (id) => engine.callable(id),
		async perform({ request: { action, payload } }, signal) {
			if (action === "hang") {
				await once(signal, "abort");
				return { outcome: null, log: "" };
			}
			if (action !== "fail") return { outcome: { ok: true, result: payload }, log: "" };
			const problem = { type: "no_answer", detail: "it failed as it was asked to" } as const;
			return { outcome: classifyProcessFailure(problem), log: "oh no\n" };
		},
		endLeft: async () => {},
		log: () => {},
		onError: () => {},
	});
}

async function rawRequest(
	target: { readonly socketPath: string } | { readonly port: number },
	{ method = "GET", path, headers = {}, body }: RawRequest,
): Promise<RawAnswer> {
	const sent = request({ ...target, method, path, headers, agent: false });
	// Whoever refuses a body closes while it is still being sent.
	sent.on("error", () => {});
	sent.end(body);
	const [response] = (await once(sent, "response")) as [IncomingMessage];
	return {
		status: response.statusCode ?? 0,
		headers: response.headers,
		body: await text(response),
	};
}
