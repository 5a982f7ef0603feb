/**
 * One client for several daemons: this one and its remotes. Ids of a remote begin with its
 * name: `box/web:coder`, `box/TASK`. Requests go to the daemon that their prefix names;
 * lists contain the entries of all daemons that answer. A remote that does not answer delays nothing
 * and is reported to `onSilent`. Requests for everything (`*`) concern this daemon only.
 */

import { ReeveError } from "../core/errors.js";
import { splitHost } from "../core/remote.js";
import type { JsonRouteName } from "../http/contract/routes.js";
import type { Client } from "./client.js";
import { mergeEvents, mergeLines } from "./merged-streams.js";
import {
	type AnyOptions,
	agentsOf,
	askAny,
	createPrefixedClient,
	FILTERS,
} from "./prefixed-client.js";

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
	const { own, remotes, onSilent } = parts;
	const clientOf = createRemoteClients(parts);
	const at = (host: string | null) => (host === null ? own : clientOf(host));

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

	const pick = (id: string) => at(splitHost(id).host);
	return {
		call: call as Client["call"],
		openApi: () => own.openApi(),
		metrics: () => own.metrics(),
		events: (options) => {
			const { host } = splitHost(options.agent ?? "");
			if (host !== null) return clientOf(host).events(options);
			if (!options.follow || options.agent !== undefined) return own.events(options);
			return mergeEvents({ own, remotes, clientOf, onSilent }, options);
		},
		logs: (id, options) => pick(id).logs(id, options),
		mergedLogs(options) {
			const streams = [...groupByHost(options.agents)].map(([host, agents]) =>
				at(host).mergedLogs({ ...options, agents }),
			);
			const [only] = streams;
			if (streams.length <= 1 && only !== undefined) return only;
			return mergeLines(streams, options.follow);
		},
		terminal: (id, options) => pick(id).terminal(id, options),
	};
}

/** The clients of the remotes, each opened when it is first needed. */
function createRemoteClients({ remotes, open }: MergedParts): (remote: string) => Client {
	const clients = new Map<string, Client>();
	return (remote) => {
		if (!remotes.includes(remote)) {
			const listed = remotes.length === 0 ? "" : `Known remotes: ${remotes.join(", ")}. `;
			const hint = `${listed}\`reeve remote add\` adds one.`;
			throw new ReeveError("remote_not_found", `unknown remote ${remote}`, hint);
		}
		const client = clients.get(remote) ?? createPrefixedClient(remote, open(remote));
		clients.set(remote, client);
		return client;
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

function groupByHost(ids: readonly string[]): ReadonlyMap<string | null, readonly string[]> {
	const byHost = new Map<string | null, string[]>();
	for (const id of ids) {
		const { host } = splitHost(id);
		byHost.set(host, [...(byHost.get(host) ?? []), id]);
	}
	return byHost;
}

/** Null unless the list names agents of several hosts. */
function splitByHost({ query }: AnyOptions): HostFilter | null {
	const filter = query?.["ids"] === undefined ? "agents" : "ids";
	const named = query?.[filter];
	if (typeof named !== "string") return null;
	const byHost = groupByHost(named.split(","));
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
