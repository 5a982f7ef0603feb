/**
 * How a request arrived, and whether that is allowed. Any web page can make a browser send requests
 * anywhere, so its Host and Origin must exactly match the daemon's own.
 */

import type { IncomingMessage } from "node:http";
import { ReeveError } from "../../core/errors.js";

export type Via =
	/** The daemon's socket: only its owner can open it. */
	| { readonly type: "socket" }
	| {
			readonly type: "network";
			/** `127.0.0.1:4270`, `localhost:4270`: allowed Host headers. */
			readonly hosts: readonly string[];
			readonly secure: boolean;
			/** The name of its cookie, by port: cookies do not distinguish ports. */
			readonly cookie: string;
	  };

/** The Host header of clients of the socket. */
const SOCKET_HOST = "localhost";

export function checkHost({ headers }: IncomingMessage, via: Via): void {
	const host = headers.host?.toLowerCase() ?? "";
	const known = via.type === "socket" ? [SOCKET_HOST] : via.hosts;
	if (known.includes(host)) return;
	throw new ReeveError(
		"misdirected",
		`host \`${host.slice(0, 100)}\` is not allowed (DNS rebinding protection)`,
	);
}

/**
 * Programs send no Origin, pages do. With a cookie, which a browser adds automatically, requests that
 * make changes must have an Origin.
 */
export function checkOrigin(request: IncomingMessage, via: Via, byCookie: boolean): void {
	const { origin } = request.headers;
	const site = request.headers["sec-fetch-site"];
	const refuse = (from: string) => {
		throw new ReeveError(
			"foreign_origin",
			`requests from the origin ${from.slice(0, 100)} are not allowed`,
		);
	};
	if (origin !== undefined && !originsOf(via).includes(origin)) refuse(origin);
	if (site !== undefined && site !== "same-origin" && site !== "none") refuse("another site");
	const acts = request.method !== "GET" || request.headers.upgrade !== undefined;
	if (byCookie && acts && origin === undefined) refuse("nowhere");
}

/**
 * Whether a person opened the address, for example from a chat or a mail on another site: the browser shows the answer
 * to that person, and to no page.
 */
export function isNavigation({ headers }: IncomingMessage): boolean {
	return (
		headers.origin === undefined &&
		headers["sec-fetch-mode"] === "navigate" &&
		headers["sec-fetch-dest"] === "document"
	);
}

function originsOf(via: Via): readonly string[] {
	if (via.type === "socket") return [];
	return via.hosts.map((host) => `${via.secure ? "https" : "http"}://${host}`);
}
