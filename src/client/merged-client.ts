/**
 * One client for several daemons: this one and its remotes. Ids of a remote begin with its
 * name: `box/web:coder`, `box/TASK`. Requests go to the daemon that their prefix names;
 * lists contain the entries of all daemons that answer. A remote that does not answer delays nothing
 * and is reported to `onSilent`. Requests for everything (`*`) concern this daemon only.
 */

import { ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import { joinHost, splitHost } from "../core/remote.js";
import type { JsonRouteName } from "../http/contract/routes.js";
import type { LiveResources } from "../http/contract/streams.js";
import type { CallOptions, Client } from "./client.js";
import type { EventOptions, MergedLine } from "./streams.js";

export interface MergedParts {
	readonly own: Client;
	/** The names of the remotes. */
	readonly remotes: readonly string[];
	/** The client of a remote, without prefixes. */
	readonly open: (remote: string) => Client;
	/** Called when a list is incomplete because a remote does not answer. */
	readonly onSilent: (remote: string, error: ReeveError) => void;
}

/** How long a list waits for a remote. */
const LIST_MS_MAX = 1_500;

export function createMergedClient(parts: MergedParts): Client {
	const { own, remotes, open, onSilent } = parts;
	const known = new Set(remotes);
	const clients = new Map<string, Client>();

	function clientOf(remote: string): Client {
		if (!known.has(remote)) {
			const listed = remotes.length === 0 ? "" : `Known remotes: ${remotes.join(", ")}. `;
			const hint = `${listed}\`reeve remote add\` adds one.`;
			throw new ReeveError("remote_not_found", `unknown remote ${remote}`, hint);
		}
		const client = clients.get(remote) ?? createPrefixedClient(remote, open(remote));
		clients.set(remote, client);
		return client;
	}

	/** Null if the remote does not answer in time. */
	async function askRemote(
		remote: string,
		name: JsonRouteName,
		options: AnyOptions,
	): Promise<unknown> {
		const patience = AbortSignal.timeout(LIST_MS_MAX);
		const signal = options.signal ? AbortSignal.any([options.signal, patience]) : patience;
		try {
			return await askAny(clientOf(remote), name, { ...options, signal });
		} catch (error) {
			if (options.signal?.aborted) throw error;
			onSilent(remote, error as ReeveError);
			return null;
		}
	}

	async function list(name: JsonRouteName, key: string, options: AnyOptions): Promise<unknown> {
		const [first, ...others] = await Promise.all([
			askAny(own, name, options),
			...remotes.map((remote) => askRemote(remote, name, options)),
		]);
		return mergeLists(key, first as Page, others as (Page | null)[], options.query?.["limit"]);
	}

	/** Agents of several hosts, from each host its own. */
	async function listByIds(
		name: JsonRouteName,
		byHost: ReadonlyMap<string | null, readonly string[]>,
		options: AnyOptions,
	): Promise<unknown> {
		const pages = await Promise.all(
			[...byHost].map(async ([host, ids]) => {
				const query = { ...options.query, ids: ids.join(",") };
				if (host === null) return askAny(own, name, { ...options, query });
				return askRemote(host, name, { ...options, query });
			}),
		);
		const answered = pages.filter((page) => page !== null) as Page[];
		return mergeLists("agents", answered[0] ?? { agents: [] }, answered.slice(1), undefined);
	}

	async function call(name: JsonRouteName, options: AnyOptions = {}): Promise<unknown> {
		const byHost = splitIds(options);
		if (byHost !== null) return listByIds(name, byHost, options);
		const remote = remoteOf(options);
		if (remote !== null) return askAny(clientOf(remote), name, options);
		const key = LISTS[name];
		if (key === undefined || options.ownOnly === true) return askAny(own, name, options);
		return list(name, key, options);
	}

	const pick = (id: string) => {
		const { host } = splitHost(id);
		return host === null ? own : clientOf(host);
	};
	return {
		call: call as Client["call"],
		openApi: () => own.openApi(),
		metrics: () => own.metrics(),
		events: (options) => {
			const { host } = splitHost(options.agent ?? "");
			if (host !== null) return clientOf(host).events(options);
			if (!options.follow || options.agent !== undefined) return own.events(options);
			return mergeEvents(own, remotes, clientOf, options, onSilent);
		},
		logs: (id, options) => pick(id).logs(id, options),
		mergedLogs(options) {
			const byHost = new Map<string | null, string[]>();
			for (const id of options.agents) {
				const { host } = splitHost(id);
				byHost.set(host, [...(byHost.get(host) ?? []), id]);
			}
			const streams = [...byHost].map(([host, agents]) =>
				(host === null ? own : clientOf(host)).mergedLogs({ ...options, agents }),
			);
			const [only] = streams;
			if (streams.length <= 1 && only !== undefined) return only;
			return mergeLines(streams, options.follow);
		},
		terminal: (id, options) => pick(id).terminal(id, options),
	};
}

interface AnyOptions {
	readonly place?: string | readonly string[];
	readonly query?: Readonly<Record<string, unknown>>;
	readonly body?: unknown;
	readonly idempotencyKey?: string;
	readonly correlationId?: string;
	readonly signal?: AbortSignal;
	readonly ownOnly?: boolean;
}

const askAny = (client: Client, name: JsonRouteName, options: AnyOptions): Promise<unknown> =>
	client.call(name, options as CallOptions<JsonRouteName>);

/** The lists that are merged, and the key of their entries. Every other request goes to one daemon. */
const LISTS: Partial<Readonly<Record<JsonRouteName, string>>> = {
	"GET /api/v1/agents": "agents",
	"GET /api/v1/tasks": "tasks",
	"GET /api/v1/plans": "plans",
	"GET /api/v1/dead-letters": "tasks",
	"GET /api/v1/inbox": "messages",
	"GET /api/v1/needs-you": "items",
	"GET /api/v1/questions": "questions",
};

type Page = Readonly<Record<string, unknown>>;

function mergeLists(
	key: string,
	own: Page,
	others: readonly (Page | null)[],
	limit: unknown,
): unknown {
	const pages = [own, ...others.filter((page) => page !== null)];
	const items = pages.flatMap((page) => (page[key] ?? []) as readonly Page[]);
	if (key === "tasks" || key === "plans") {
		// Ids contain the time of their creation.
		items.sort((a, b) => (idOf(b, key) > idOf(a, key) ? 1 : -1));
	}
	const shown = typeof limit === "number" ? items.slice(0, limit) : items;
	const merged: Record<string, unknown> = { ...own, [key]: shown };
	// A position in the list of one daemon means nothing to another.
	if ("next" in own) merged["next"] = null;
	if ("counts" in own) merged["counts"] = sumCounts(pages);
	return merged;
}

function idOf(item: Page, key: string): string {
	return splitHost(String(key === "tasks" ? item["task_id"] : item["plan_id"])).rest;
}

function sumCounts(pages: readonly Page[]): Readonly<Record<string, number>> {
	const sum: Record<string, number> = {};
	for (const page of pages) {
		const counts = (page["counts"] ?? {}) as Readonly<Record<string, number>>;
		for (const [status, count] of Object.entries(counts)) sum[status] = (sum[status] ?? 0) + count;
	}
	return sum;
}

/** The agents of a list by their hosts; null unless the list names agents of several hosts. */
function splitIds({ query }: AnyOptions): ReadonlyMap<string | null, readonly string[]> | null {
	const ids = query?.["ids"];
	if (typeof ids !== "string") return null;
	const byHost = new Map<string | null, string[]>();
	for (const id of ids.split(",")) {
		const { host } = splitHost(id);
		byHost.set(host, [...(byHost.get(host) ?? []), id]);
	}
	return byHost.size > 1 ? byHost : null;
}

/** The remote that the request names; null for none. Throws if it names several. */
function remoteOf({ place, query, body }: AnyOptions): string | null {
	const named = [
		...(typeof place === "string" ? [place] : (place ?? []).slice(0, 1)),
		...FILTERS.flatMap((key) => {
			const value = query?.[key];
			return typeof value === "string" ? value.split(",") : [];
		}),
		...agentsOf(body),
	];
	const hosts = [...new Set(named.map((each) => splitHost(each).host))];
	if (hosts.length <= 1) return hosts[0] ?? null;
	const shown = hosts.map((host) => host ?? "this host").join(", ");
	throw new ReeveError(
		"usage",
		`one request cannot concern several hosts: ${shown}`,
		"Send one request per host.",
	);
}

/** Filters that name agents, plans or tasks. */
const FILTERS = ["agent", "plan", "project", "ids"] as const;

interface WithAgents {
	readonly agent?: unknown;
	readonly tasks?: Readonly<Record<string, { readonly agent?: unknown }>>;
}

function agentsOf(body: unknown): readonly string[] {
	const { agent, tasks } = (body ?? {}) as WithAgents;
	const all = [agent, ...Object.values(tasks ?? {}).map((task) => task?.agent)];
	return all.filter((each) => typeof each === "string");
}

/** A client of one remote, with its name in front of every id. Its errors are `ReeveError`s. */
function createPrefixedClient(remote: string, client: Client): Client {
	const call = async (name: JsonRouteName, options: AnyOptions = {}) => {
		try {
			return prefixed(remote, await askAny(client, name, strip(options)));
		} catch (error) {
			throw asReeveError(remote, error);
		}
	};
	return {
		call: call as Client["call"],
		openApi: () => client.openApi(),
		metrics: () => client.metrics(),
		events: (options) =>
			withErrors(remote, prefixEvents(remote, client.events(stripEvents(remote, options)))),
		logs: (id, options) => withErrors(remote, client.logs(splitHost(id).rest, options)),
		mergedLogs(options) {
			const agents = options.agents.map((id) => splitHost(id).rest);
			return withErrors(remote, prefixLines(remote, client.mergedLogs({ ...options, agents })));
		},
		terminal: (id, options) =>
			client.terminal(splitHost(id).rest, options).catch((error: unknown) => {
				throw asReeveError(remote, error);
			}),
	};
}

function stripEvents(remote: string, options: EventOptions): EventOptions {
	const { agent, onResources } = options;
	return {
		...options,
		...(agent !== undefined && { agent: splitHost(agent).rest }),
		onResources:
			onResources &&
			(({ agents }) => {
				const entries = Object.entries(agents);
				onResources({
					agents: Object.fromEntries(entries.map(([id, each]) => [joinHost(remote, id), each])),
				});
			}),
	};
}

/** The same request, without the name of the remote. */
function strip(options: AnyOptions): AnyOptions {
	const { place, query, body } = options;
	const rest = (text: string) => splitHost(text).rest;
	const stripped: Record<string, unknown> = { ...options };
	if (typeof place === "string") stripped["place"] = rest(place);
	else if (place !== undefined)
		stripped["place"] = place.map((each, at) => (at === 0 ? rest(each) : each));
	if (query !== undefined) {
		const entries = Object.entries(query).map(([key, value]) => {
			const isId = FILTERS.some((filter) => filter === key) && typeof value === "string";
			return [key, isId ? value.split(",").map(rest).join(",") : value];
		});
		stripped["query"] = Object.fromEntries(entries);
	}
	if (agentsOf(body).length > 0) stripped["body"] = stripBody(body as WithAgents, rest);
	return stripped;
}

function stripBody(body: WithAgents, rest: (text: string) => string): unknown {
	const strip = <T extends { readonly agent?: unknown }>(each: T): T =>
		typeof each?.agent === "string" ? { ...each, agent: rest(each.agent) } : each;
	if (body.tasks === undefined) return strip(body);
	const tasks = Object.entries(body.tasks).map(([name, task]) => [name, strip(task)]);
	return { ...strip(body), tasks: Object.fromEntries(tasks) };
}

/** Keys of ids in responses. `agent` and `id` are also used for names and for other ids. */
const ID_KEYS: ReadonlySet<string> = new Set([
	...["agent_id", "project", "task_id", "plan_id", "replay_of", "replayed_as"],
]);
const AGENT_ID = /^[a-z0-9][a-z0-9_-]*:[a-z0-9][a-z0-9_-]*$/;
/** Content of agents and users, which is not Reeve's. */
const OPAQUE: ReadonlySet<string> = new Set([
	...["payload", "result", "context", "response", "settings", "data", "env"],
]);

/** The response with the name of the remote in front of every id, also in commands that it suggests. */
function prefixed(remote: string, value: unknown, key = ""): unknown {
	if (typeof value === "string") return prefixText(remote, key, value);
	if (Array.isArray(value)) return value.map((each) => prefixed(remote, each, key));
	if (typeof value !== "object" || value === null) return value;
	const entries = Object.entries(value).map(([name, each]) => [
		name,
		OPAQUE.has(name) ? each : prefixed(remote, each, name),
	]);
	// Messages are the only objects whose own id is sent back without an agent.
	const copy = Object.fromEntries(entries);
	if ("phase" in copy && typeof copy.id === "string") copy.id = joinHost(remote, copy.id);
	return copy;
}

function prefixText(remote: string, key: string, text: string): string {
	const isAgent = (key === "id" || key === "agent" || key === "agents") && AGENT_ID.test(text);
	if (isAgent || ID_KEYS.has(key)) return joinHost(remote, text);
	return prefixCommands(remote, text);
}

/** `reeve resume web:coder` only works with the name of the remote. */
function prefixCommands(remote: string, text: string): string {
	return text.replace(/`reeve [^`]*`/g, (command) =>
		command.replace(/(?<= )([a-z0-9][a-z0-9_-]*:[a-z0-9][a-z0-9_-]*)/g, `${remote}/$1`),
	);
}

async function* prefixEvents(
	remote: string,
	events: AsyncIterable<ReeveEvent>,
): AsyncGenerator<ReeveEvent> {
	for await (const event of events) {
		const { agent, task, plan } = event;
		yield {
			...event,
			...(agent !== undefined && { agent: joinHost(remote, agent) }),
			...(task !== undefined && { task: joinHost(remote, task) }),
			...(plan !== undefined && { plan: joinHost(remote, plan) }),
			host: remote,
		} as ReeveEvent;
	}
}

async function* prefixLines(
	remote: string,
	lines: AsyncIterable<MergedLine>,
): AsyncGenerator<MergedLine> {
	for await (const line of lines) yield { ...line, agent: joinHost(remote, line.agent) };
}

/** The lines of several hosts: stored ones by time, new ones as they arrive. Each host keeps its order. */
async function* mergeLines(
	streams: readonly AsyncGenerator<MergedLine>[],
	follow: boolean,
): AsyncGenerator<MergedLine> {
	const pending = new Map(streams.map((stream) => [stream, nextOf(stream)] as const));
	try {
		while (pending.size > 0) {
			const waiting = [...pending.values()];
			const heads = follow ? [await Promise.race(waiting)] : await Promise.all(waiting);
			const ended = heads.filter(({ result }) => result.done === true);
			for (const { stream } of ended) pending.delete(stream);
			const lines = heads.flatMap(({ stream, result }) =>
				result.done === true ? [] : [{ stream, line: result.value }],
			);
			const [first, ...others] = lines;
			if (first === undefined) continue;
			const next = others.reduce((a, b) => (b.line.at < a.line.at ? b : a), first);
			pending.set(next.stream, nextOf(next.stream));
			yield next.line;
		}
	} finally {
		await Promise.allSettled(streams.map((stream) => stream.return(undefined)));
	}
}

async function nextOf(stream: AsyncGenerator<MergedLine>) {
	return { stream, result: await stream.next() };
}

async function* withErrors<T>(remote: string, items: AsyncIterable<T>): AsyncGenerator<T> {
	try {
		yield* items;
	} catch (error) {
		throw asReeveError(remote, error);
	}
}

/** The error, with the remote that it comes from. */
function asReeveError(remote: string, error: unknown): ReeveError {
	if (!(error instanceof ReeveError)) {
		const message = error instanceof Error ? error.message : String(error);
		return new ReeveError("remote_unreachable", `${remote} does not answer: ${message}`);
	}
	// This daemon reports the remotes that it cannot reach by name.
	if (error.code === "remote_unreachable" || error.code === "remote_not_found") return error;
	if (error.code === "timeout") {
		return new ReeveError("remote_unreachable", `${remote} does not answer in time`);
	}
	const hint = prefixCommands(remote, error.hint);
	return new ReeveError(
		error.code,
		`${remote}: ${prefixCommands(remote, error.message)}`,
		hint,
		error.details,
	);
}

/**
 * The new events of all daemons, each in its own order. Those of remotes begin now, since `after` is a
 * number of this daemon. A remote that is lost is reported and followed again when it answers.
 */
async function* mergeEvents(
	own: Client,
	remotes: readonly string[],
	clientOf: (remote: string) => Client,
	options: EventOptions,
	onSilent: MergedParts["onSilent"],
): AsyncGenerator<ReeveEvent> {
	const over = new AbortController();
	const signal = options.signal ? AbortSignal.any([options.signal, over.signal]) : over.signal;
	const queue: ReeveEvent[] = [];
	let wake = () => {};
	let failure: { readonly error: unknown } | null = null;
	let isOwnOver = false;
	const push = async (event: ReeveEvent) => {
		queue.push(event);
		wake();
		// A slow reader slows the streams down instead of filling the memory.
		while (queue.length >= QUEUED_MAX && !signal.aborted) await delay(QUEUE_POLL_MS, signal);
	};
	/** The last readings of each host, which a listener gets together. */
	const readings = new Map<string | null, LiveResources["agents"]>();
	const onResources =
		options.onResources &&
		((host: string | null) =>
			({ agents }: LiveResources) => {
				readings.set(host, agents);
				options.onResources?.({ agents: Object.assign({}, ...readings.values()) });
			});
	const followOwn = async () => {
		const mine = { ...options, signal, onResources: onResources?.(null) };
		for await (const event of own.events(mine)) await push(event);
	};
	const followRemote = async (remote: string) => {
		let after: number | null = null;
		let isReported = false;
		while (!signal.aborted) {
			try {
				const client = clientOf(remote);
				after ??= (await client.call("GET /api/v1/agents", { signal })).seq ?? 0;
				const { type } = options;
				for await (const event of client.events({
					...{ after, type, follow: true, reconnectForMs: 0, signal },
					onResources: onResources?.(remote),
				})) {
					after = event.seq;
					await push(event);
				}
			} catch (error) {
				if (signal.aborted) return;
				// Later this daemon's own events report it.
				if (!isReported) onSilent(remote, error as ReeveError);
				isReported = true;
			}
			await delay(RETRY_MS, signal);
		}
	};
	followOwn()
		.catch((error: unknown) => {
			failure = { error };
		})
		.finally(() => {
			isOwnOver = true;
			wake();
		});
	for (const remote of remotes) void followRemote(remote);
	try {
		for (;;) {
			const event = queue.shift();
			if (event !== undefined) yield event;
			else if (failure !== null) throw (failure as { readonly error: unknown }).error;
			else if (isOwnOver) return;
			else {
				await new Promise<void>((resolve) => {
					wake = resolve;
				});
			}
		}
	} finally {
		over.abort();
	}
}

const QUEUED_MAX = 1_000;
const QUEUE_POLL_MS = 20;
const RETRY_MS = 3_000;

function delay(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const timer = setTimeout(done, ms);
		function done(): void {
			clearTimeout(timer);
			signal.removeEventListener("abort", done);
			resolve();
		}
		if (signal.aborted) done();
		else signal.addEventListener("abort", done);
	});
}
