/** The API over an engine in memory: a real server on a real socket, and the typed client. */

import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import { createMembership } from "../../src/cluster/membership.js";
import { ReeveError } from "../../src/core/errors.js";
import { classifyProcessFailure } from "../../src/core/outcome.js";
import { openPush } from "../../src/daemon/push-desk.js";
import { createFailureLimit } from "../../src/http/auth/failure-limit.js";
import { createGate, type Refusal } from "../../src/http/auth/gate.js";
import { createLoginLinks } from "../../src/http/auth/login-links.js";
import { openTokens, type Tokens } from "../../src/http/auth/tokens.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { createPage } from "../../src/http/page.js";
import { createApi } from "../../src/http/server.js";
import type { Cluster } from "../../src/ports/cluster.js";
import type { Executor } from "../../src/ports/executor.js";
import type { PushKeys, PushStore, PushSubscription } from "../../src/ports/push-store.js";
import type { Remotes, RemoteView } from "../../src/ports/remotes.js";
import type { StoredToken, TokenStore } from "../../src/ports/token-store.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "../engine/daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "../engine/scripted-sessions.js";
import { daemonJson } from "../support/agents.js";
import { temporaryFolder } from "../support/reeve.js";

export interface ApiWorld {
	readonly world: DaemonWorld;
	readonly sessions: ScriptedSessions;
	readonly socketPath: string;
	readonly client: Client;
	/** The directory of the agents' logs. */
	readonly logs: string;
	/** How often the daemon was asked to stop. */
	readonly ends: { count: number };
	/** Failures that are not sent to clients. */
	readonly failures: unknown[];
	readonly refusals: Refusal[];
	/** The port on which the same API is served to the network. */
	readonly port: number;
	readonly tokens: Tokens;
	/** A request as any program could send it, over the socket. */
	raw(options: RawRequest): Promise<RawAnswer>;
	/** The same over the network. */
	rawNetwork(options: RawRequest): Promise<RawAnswer>;
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

/** The modules of the API; a test may use a copy with a bug. */
export interface ApiModules {
	readonly createApi: typeof createApi;
	readonly createGate: typeof createGate;
	readonly openTokens: typeof openTokens;
	readonly createLoginLinks: typeof createLoginLinks;
}

const REAL: ApiModules = { createApi, createGate, openTokens, createLoginLinks };

const HOST_FACTS = {
	...{ platform: "linux", node: "22.0.0", cpus: 2, load: [0, 0, 0], uptime_ms: 1_000 },
	...{ memory_total_bytes: 2_000, memory_free_bytes: 1_000, daemon_memory_bytes: 500 },
	...{ disk: null, database_bytes: null },
	...{ findings: null, findings_at: null, findings_problem: null },
};

/** An API over a fleet: `p:web` runs, `p:db` does not, and `p:tool` takes requests. */
export async function createApiWorld(
	modules: ApiModules = REAL,
	{
		remotes = createNoRemotes(),
		cluster = createNoCluster(),
	}: { readonly remotes?: Remotes; readonly cluster?: Cluster } = {},
): Promise<ApiWorld> {
	const { createApi, createGate, openTokens, createLoginLinks } = modules;
	const sessions = createScriptedSessions();
	const schedule = (ms: number, task: () => void) => {
		const timer = setTimeout(task, ms).unref();
		return () => clearTimeout(timer);
	};
	const world = await createDaemonWorld(undefined, createEchoExecutor(), sessions, schedule);
	const folder = temporaryFolder();
	const [socketPath, logs] = [join(folder, "reeve.sock"), join(folder, "logs")];
	mkdirSync(logs);
	const ends = { count: 0 };
	const failures: unknown[] = [];
	const refusals: Refusal[] = [];
	const status = (): DaemonJson => daemonJson(folder);
	const clock = { now: world.clock.now, schedule };
	const server = createServer();
	const tokens = await openTokens(createMemoryTokens(), clock);
	const api = createApi({
		...{ tokens, links: createLoginLinks(() => world.clock.now().wallMs) },
		gate: createGate(
			tokens,
			createFailureLimit(() => world.clock.now().steadyMs),
			1_000,
			(refusal) => refusals.push(refusal),
		),
		engine: world.engine,
		store: world.store,
		clock,
		host: "here",
		version: "1.2.3",
		status,
		recovery: { isOver: () => true, over: Promise.resolve() },
		shutDown: () => {
			ends.count += 1;
		},
		reload: async () => ({ changed: true, keys: ["listen"], problem: null }),
		testNotify: async () => [{ name: "phone", type: "ntfy", ok: true, reason: null }],
		push: await openPush(createMemoryPush(), tokens, () => world.clock.now().wallMs),
		remotes,
		cluster,
		logDirOf: (id) => (id === "p:web" ? logs : join(logs, id)),
		indexes: join(folder, "search"),
		redact: (text) => text.replaceAll("hunter2", "***"),
		meter: { measure: async () => new Map() },
		describeHost: async () => HOST_FACTS,
		describeConfig: async ({ spec, fleetFile }) => ({
			...{ id: spec.id, fleet_file: fleetFile, settings: [], problem: null },
		}),
		describeEnvironment: async () => ({ variables: [], env_file: null, warnings: [] }),
		page: createPage(createTestPage(folder)),
		onError: (error) => failures.push(error),
	});
	const network = createServer();
	const closers = [api.serve(server, { type: "socket" })];
	server.listen(socketPath);
	network.listen(0, "127.0.0.1");
	await Promise.all([once(server, "listening"), once(network, "listening")]);
	const { port } = network.address() as AddressInfo;
	const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
	closers.push(api.serve(network, { type: "network", hosts, secure: false, cookie: COOKIE }));
	onTestFinished(async () => {
		for (const each of [server, network]) each.closeAllConnections();
		await Promise.all(closers.map((close) => close()));
	});
	await world.engine.up(FLEET, "p:web");
	await world.settle();
	const raw = (options: RawRequest) => rawRequest({ socketPath }, options);
	const rawNetwork = (options: RawRequest) => rawRequest({ host: "127.0.0.1", port }, options);
	return {
		...{
			world,
			sessions,
			socketPath,
			port,
			tokens,
			logs,
			ends,
			failures,
			refusals,
			raw,
			rawNetwork,
		},
		client: createClient({ socketPath }),
	};
}

/** The name of the cookie on the network. */
export const COOKIE = "reeve_session_test";

/** A page of three files, one of them also compressed. */
function createTestPage(folder: string): string {
	const page = join(folder, "page");
	mkdirSync(join(page, "assets"), { recursive: true });
	writeFileSync(join(page, "index.html"), "<!doctype html><title>Reeve</title>");
	writeFileSync(join(page, "assets", "main-1234.js"), "plain");
	writeFileSync(join(page, "assets", "main-1234.js.br"), "brotli");
	writeFileSync(join(page, "assets", "main-1234.js.gz"), "gzip");
	writeFileSync(join(page, "secret.txt"), "not a file of the page");
	return page;
}

function createMemoryTokens(): TokenStore {
	let [stored, own]: [readonly StoredToken[], string | null] = [[], null];
	return {
		read: async () => stored,
		write: async (tokens) => {
			stored = tokens;
		},
		readDefault: async () => own,
		writeDefault: async (token) => {
			own = token;
		},
	};
}

export const FLEET = fleetOf(`web: { command: [web] }
db: { command: [db] }
tool: { kind: call, command: [tool], retry: { max_attempts: 1 } }`);

/** Programs that echo their input, or fail on request. */
function createEchoExecutor(): Executor {
	return {
		async call({ request: { action, payload } }, signal) {
			if (action === "hang") {
				await once(signal, "abort");
				return { outcome: null, log: "" };
			}
			if (action !== "fail") return { outcome: { ok: true, result: payload }, log: "" };
			const problem = { type: "no_answer", detail: "it failed as it was asked to" } as const;
			return { outcome: classifyProcessFailure(problem), log: "oh no\n" };
		},
		startWorker: () => Promise.reject(new Error("no workers are started here")),
		endLeft: async () => [],
		close: async () => {},
	};
}

async function rawRequest(
	target: { readonly socketPath: string } | { readonly host: string; readonly port: number },
	{ method = "GET", path, headers = {}, body }: RawRequest,
): Promise<RawAnswer> {
	const sent = request({ ...target, method, path, headers, agent: false });
	// A server that refuses a body closes while it is still being sent.
	sent.on("error", () => {});
	sent.end(body);
	const [response] = (await once(sent, "response")) as [IncomingMessage];
	return {
		status: response.statusCode ?? 0,
		headers: response.headers,
		body: await text(response),
	};
}

/** Keeps remotes in memory; none can be reached. */
export function createNoRemotes(): Remotes {
	const all = new Map<string, RemoteView>();
	const find = (name: string) => {
		const found = all.get(name);
		if (found === undefined) throw new ReeveError("remote_not_found", `unknown remote ${name}`);
		return found;
	};
	return {
		list: () => [...all.values()],
		async add(remote) {
			const view: RemoteView = {
				...{ ...remote, state: "unreachable", sinceMs: 0, seenAtMs: null },
				...{ reason: "it is a test", version: null },
			};
			all.set(remote.name, view);
			return view;
		},
		async remove(name) {
			all.delete(find(name).name);
		},
		reconnect: async (name) => find(name),
		async target(name) {
			throw new ReeveError("remote_unreachable", `${name} does not answer: it is a test`);
		},
	};
}

function createNoCluster(): Cluster {
	return createMembership({ onChange: () => {}, wallMs: () => 0 });
}

function createMemoryPush(): PushStore {
	let all: readonly PushSubscription[] = [];
	let keys: PushKeys | null = null;
	return {
		readSubscriptions: async () => all,
		change: async (next) => {
			all = next(all);
			return all;
		},
		readKeys: async () => keys,
		writeKeys: async (made) => {
			keys = made;
		},
	};
}
