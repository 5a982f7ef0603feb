/** The client of one remote: it adds the name of the remote to every id, and removes it from requests. */

import { ReeveError } from "../core/errors.js";
import type { ReeveEvent } from "../core/events.js";
import { messageOf } from "../core/message-of.js";
import { joinHost, splitHost } from "../core/remote.js";
import { prefixCommands, prefixIds } from "../http/contract/remote-ids.js";
import type { JsonRouteName } from "../http/contract/routes.js";
import { noteAnswer } from "./answered-remotes.js";
import type { CallOptions, Client } from "./client.js";
import type { EventOptions, MergedLine } from "./streams.js";

export interface AnyOptions {
	readonly place?: string | readonly string[];
	readonly query?: Readonly<Record<string, unknown>>;
	readonly body?: unknown;
	readonly idempotencyKey?: string;
	readonly correlationId?: string;
	readonly signal?: AbortSignal;
	readonly ownOnly?: boolean;
}

export const askAny = (
	client: Client,
	name: JsonRouteName,
	options: AnyOptions,
): Promise<unknown> => client.call(name, options as CallOptions<JsonRouteName>);

/** Filters that name agents, plans or tasks. */
export const FILTERS = ["agent", "agents", "plan", "project", "ids"] as const;

interface WithAgents {
	readonly agent?: unknown;
	readonly tasks?: Readonly<Record<string, { readonly agent?: unknown }>>;
}

export function agentsOf(body: unknown): readonly string[] {
	const { agent, tasks } = (body ?? {}) as WithAgents;
	const all = [agent, ...Object.values(tasks ?? {}).map((task) => task?.agent)];
	return all.filter((each) => typeof each === "string");
}

/** A client of one remote, with its name in front of every id. Its errors are `ReeveError`s. */
export function createPrefixedClient(remote: string, client: Client): Client {
	const call = async (name: JsonRouteName, options: AnyOptions = {}) => {
		try {
			const reply = await askAny(client, name, strip(options));
			noteAnswer(remote);
			return prefixIds(remote, reply);
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
		const message = messageOf(error);
		return new ReeveError("remote_unreachable", `${remote} does not answer: ${message}`);
	}
	// This daemon reports the remotes that it cannot reach by name.
	if (error.code === "remote_unreachable" || error.code === "remote_not_found") return error;
	if (error.code === "timeout") {
		return new ReeveError("remote_unreachable", `${remote} does not answer in time`);
	}
	if (error.code === "no_route") {
		const message = `${remote}: ${error.message}. It runs another version of Reeve`;
		return new ReeveError(error.code, message, `Update Reeve on ${remote}.`);
	}
	const hint = prefixCommands(remote, error.hint);
	return new ReeveError(
		error.code,
		`${remote}: ${prefixCommands(remote, error.message)}`,
		hint,
		error.details,
	);
}
