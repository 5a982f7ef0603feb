/**
 * One client for several daemons: this one and its remotes. Ids of a remote begin with its
 * name: `box/web:coder`, `box/TASK`. Requests go to the daemon that their prefix names;
 * lists contain the entries of all daemons that answer. A remote that does not answer delays nothing
 * and is reported to `onSilent`. Requests for everything (`*`) concern this daemon only.
 */

import { ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import { splitHost } from "../core/remote.js";
import type { JsonRouteName } from "../http/contract/routes.js";
import type { LiveResources } from "../http/contract/streams.js";
import type { Client } from "./client.js";
import {
	type AnyOptions,
	agentsOf,
	askAny,
	createPrefixedClient,
	FILTERS,
} from "./prefixed-client.js";
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

	/** A list about agents of several hosts, from each host about its own. */
	async function listByHost(
		name: JsonRouteName,
		key: string,
		{ filter, byHost }: HostFilter,
		options: AnyOptions,
	): Promise<unknown> {
		const pages = await Promise.all(
			[...byHost].map(async ([host, ids]) => {
				const query = { ...options.query, [filter]: ids.join(",") };
				if (host === null) return askAny(own, name, { ...options, query });
				return askRemote(host, name, { ...options, query });
			}),
		);
		const answered = pages.filter((page) => page !== null) as Page[];
		const [first = { [key]: [] }, ...others] = answered;
		return mergeLists(key, first, others, options.query?.["limit"]);
	}

	async function call(name: JsonRouteName, options: AnyOptions = {}): Promise<unknown> {
		const key = LISTS[name];
		const split = key === undefined ? null : splitByHost(options);
		if (key !== undefined && split !== null) return listByHost(name, key, split, options);
		const remote = remoteOf(options);
		if (remote !== null) return askAny(clientOf(remote), name, options);
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

/** The lists that are merged, and the key of their entries. Every other request goes to one daemon. */
const LISTS: Partial<Readonly<Record<JsonRouteName, string>>> = {
	"GET /api/v1/agents": "agents",
	"GET /api/v1/tasks": "tasks",
	"GET /api/v1/plans": "plans",
	"GET /api/v1/dead-letters": "tasks",
	"GET /api/v1/inbox": "messages",
	"GET /api/v1/needs-you": "items",
	"GET /api/v1/questions": "questions",
	"GET /api/v1/schedules": "schedules",
	"GET /api/v1/search": "matches",
	"GET /api/v1/usage": "days",
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
	const order = NEWEST_FIRST[key];
	if (order !== undefined && pages.length > 1) {
		items.sort((a, b) => (order(a) < order(b) ? 1 : order(a) > order(b) ? -1 : 0));
	}
	const shown = typeof limit === "number" ? items.slice(0, limit) : items;
	const merged: Record<string, unknown> = { ...own, [key]: shown };
	// A position in the list of one daemon means nothing to another.
	if ("next" in own) merged["next"] = null;
	// A daemon of an earlier version does not count, so the total is unknown.
	if ("counts" in own) {
		merged["counts"] = pages.every((page) => "counts" in page) ? sumCounts(pages) : undefined;
	}
	if (key === "matches") {
		merged["incomplete"] = pages.flatMap((page) => page["incomplete"] ?? []);
		for (const sum of ["bytes", "read_bytes"]) {
			merged[sum] = pages.reduce((total, page) => total + Number(page[sum] ?? 0), 0);
		}
	}
	return merged;
}

/** The lists that are newest first, and what sorts them. Ids contain the time of their creation. */
const NEWEST_FIRST: Readonly<Record<string, (item: Page) => string>> = {
	tasks: (item) => splitHost(String(item["task_id"])).rest,
	plans: (item) => splitHost(String(item["plan_id"])).rest,
	matches: (item) => String(item["at"] ?? ""),
	days: (item) => String(item["day"]),
};

function sumCounts(pages: readonly Page[]): Readonly<Record<string, number>> {
	const sum: Record<string, number> = {};
	for (const page of pages) {
		const counts = (page["counts"] ?? {}) as Readonly<Record<string, number>>;
		for (const [status, count] of Object.entries(counts)) sum[status] = (sum[status] ?? 0) + count;
	}
	return sum;
}

/** A filter that names agents, and these by their hosts. */
interface HostFilter {
	readonly filter: "ids" | "agents";
	readonly byHost: ReadonlyMap<string | null, readonly string[]>;
}

/** Null unless the list names agents of several hosts. */
function splitByHost({ query }: AnyOptions): HostFilter | null {
	const filter = query?.["ids"] === undefined ? "agents" : "ids";
	const named = query?.[filter];
	if (typeof named !== "string") return null;
	const byHost = new Map<string | null, string[]>();
	for (const id of named.split(",")) {
		const { host } = splitHost(id);
		byHost.set(host, [...(byHost.get(host) ?? []), id]);
	}
	return byHost.size > 1 ? { filter, byHost } : null;
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
		`one request cannot target several hosts: ${shown}`,
		"Send one request per host.",
	);
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
					after,
					type,
					follow: true,
					reconnectForMs: 0,
					signal,
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
