/** Handlers of remotes. */

import type { Remote, RemoteView } from "../../ports/remotes.js";
import type { RemoteJson, remoteRoutes } from "../contract/remotes.js";
import type { Routes } from "../contract/routes.js";
import type { Handlers, HttpParts } from "../handler.js";

export function createRemoteHandlers({ remotes }: HttpParts): Handlers<keyof typeof remoteRoutes> {
	return {
		"GET /api/v1/remotes": () => ({ remotes: remotes.list().map(renderRemote) }),
		"POST /api/v1/remotes": async ({ body }) => renderRemote(await remotes.add(parseRemote(body))),
		"POST /api/v1/remotes/:remote/connect": async ({ params, body }) =>
			renderRemote(await remotes.reconnect(params.remote, body.auth_sock)),
		"POST /api/v1/remotes/:remote/remove": async ({ params }) => {
			await remotes.remove(params.remote);
			return { removed: params.remote };
		},
	};
}

function parseRemote({ name, address }: Routes["POST /api/v1/remotes"]["parsedBody"]): Remote {
	if (address.type === "ssh") {
		const { target, socket, auth_sock: authSock } = address;
		return { name, address: { type: "ssh", target, socket, authSock } };
	}
	const { url, token_file: tokenFile, ca_file: caFile } = address;
	return { name, address: { type: "url", url, tokenFile, caFile } };
}

function renderRemote({ name, address, ...view }: RemoteView): RemoteJson {
	return {
		name,
		type: address.type,
		address: address.type === "ssh" ? address.target : address.url,
		state: view.state,
		since: new Date(view.sinceMs).toISOString(),
		seen_at: view.seenAtMs === null ? null : new Date(view.seenAtMs).toISOString(),
		reason: view.reason,
		version: view.version,
	};
}
