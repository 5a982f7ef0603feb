/** Requests to the daemon, with the types of the contract. */

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
}

export async function call<Name extends JsonRouteName>(
	name: Name,
	{ place = [], query, body, signal }: Request<Name> = {},
): Promise<Routes[Name]["reply"]> {
	const [method = "GET", path = "/"] = name.split(" ");
	const url = fillPath(path, place) + renderQuery(query);
	const response = await send(url, {
		method,
		...(method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
		...(signal === undefined ? {} : { signal }),
	});
	return (await response.json()) as Routes[Name]["reply"];
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
	const text = new URLSearchParams(sent.map(([key, value]) => [key, String(value)])).toString();
	return text === "" ? "" : `?${text}`;
}
