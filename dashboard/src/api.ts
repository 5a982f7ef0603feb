/**
 * Requests to the daemon, with the types of the contract. An id such as `box/web:coder` belongs to a remote: its
 * requests go there, and the ids in the reply have its name in front.
 */

import { splitHost } from "../../src/core/remote.js";
import { prefixIds } from "../../src/http/contract/remote-ids.js";
import type { JsonRouteName, Routes } from "../../src/http/contract/routes.js";
import type { ErrorJson } from "../../src/http/contract/shapes.js";

/** A refused or failed request, with the daemon's words. */
export class ApiError extends Error {
	readonly code: string;
	readonly hint: string;
	readonly status: number;

	constructor(code: string, message: string, hint: string, status: number) {
		super(message);
		this.code = code;
		this.hint = hint;
		this.status = status;
	}
}

interface Request<Name extends JsonRouteName> {
	/** The `:part` of the path, in order. */
	readonly place?: readonly string[];
	readonly query?: Routes[Name]["sentQuery"];
	readonly body?: Routes[Name]["body"];
	readonly signal?: AbortSignal;
	/** The remote to ask, for requests that do not name it. */
	readonly host?: string | null;
}

/** The path of the API of a remote; null is this daemon. */
export const apiOf = (host: string | null) => (host === null ? "" : `/remotes/${host}`);

/** The address of a stream of an agent. */
export function agentUrl(id: string, rest: string): string {
	const { host, rest: agent } = splitHost(id);
	return `${apiOf(host)}/api/v1/agents/${encodeURIComponent(agent)}/${rest}`;
}

export async function call<Name extends JsonRouteName>(
	name: Name,
	{ place = [], query, body, signal, host = null }: Request<Name> = {},
): Promise<Routes[Name]["reply"]> {
	const [method = "GET", path = "/"] = name.split(" ");
	const [first, ...others] = place;
	const named = splitHost(first ?? agentOf(query) ?? "");
	const at = named.host ?? host;
	const parts = first === undefined ? [] : [named.rest, ...others];
	const url = apiOf(at) + fillPath(path, parts) + renderQuery(query);
	const response = await send(url, {
		method,
		...(method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
		...(signal === undefined ? {} : { signal }),
	});
	const reply: unknown = await response.json();
	return (at === null ? reply : prefixIds(at, reply)) as Routes[Name]["reply"];
}

/** The agent that a list is limited to. */
function agentOf(query: unknown): string | undefined {
	const { agent } = (query ?? {}) as { readonly agent?: unknown };
	return typeof agent === "string" ? agent : undefined;
}

/** Sends a request; a failure becomes an `ApiError`. */
export async function send(url: string, init: RequestInit = {}): Promise<Response> {
	const headers = new Headers(init.headers);
	if (init.body) headers.set("content-type", "application/json");
	let response: Response;
	try {
		response = await fetch(url, { ...init, headers, credentials: "same-origin" });
	} catch (error) {
		if (error instanceof DOMException && error.name === "AbortError") throw error;
		throw new ApiError("not_connected", "the daemon does not answer", "", 0);
	}
	if (response.ok) return response;
	throw await readError(response);
}

async function readError(response: Response): Promise<ApiError> {
	const reply = (await response.json().catch(() => null)) as ErrorJson | null;
	const { code, message, hint } = reply?.error ?? {};
	return new ApiError(
		code ?? "internal",
		message ?? `the daemon answered ${response.status}`,
		hint ?? "",
		response.status,
	);
}

function fillPath(path: string, place: readonly string[]): string {
	const values = [...place];
	return path.replace(/:\w+/g, () => encodeURIComponent(values.shift() ?? ""));
}

function renderQuery(query: unknown): string {
	const sent = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
	const text = new URLSearchParams(
		sent.map(([key, value]) => [key, key === "agent" ? splitHost(`${value}`).rest : `${value}`]),
	).toString();
	return text === "" ? "" : `?${text}`;
}
