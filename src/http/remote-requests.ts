/**
 * Requests for the daemon of a remote: the caller needs the same access as for this daemon's own (A4),
 * and its actions are recorded here too, under the name of the remote.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { ReeveError } from "../core/errors.js";
import { joinHost } from "../core/remote.js";
import { type Act, isAction, noted } from "./audit.js";
import { type Gate, mayAct } from "./auth/gate.js";
import type { RouteName } from "./contract/routes.js";
import { type RemoteProxy, remoteNeed } from "./remote-proxy.js";
import { locate } from "./router.js";
import type { Upgrade } from "./terminal-hub.js";
import { type Door, watchCaller } from "./watch-caller.js";

/** A request to open a WebSocket. Every failure gets a response. */
export type Handshake = Pick<Upgrade, "request" | "socket" | "head">;

interface RemoteRequest {
	readonly remote: string;
	/** On the remote. */
	readonly path: string;
	readonly url: URL;
	readonly correlationId: string;
}

interface RemoteRequestsParts {
	readonly gate: Gate;
	readonly proxy: RemoteProxy;
	readonly isSocket: (route: RouteName) => boolean;
	readonly recordAction: (act: Act) => void;
}

export interface RemoteRequests {
	/** Passes the request on to the daemon of the remote. Its response is not read. */
	forward(
		request: IncomingMessage,
		response: ServerResponse,
		door: Door,
		to: RemoteRequest,
	): Promise<void>;
	upgrade(handshake: Handshake, door: Door, to: RemoteRequest): Promise<void>;
}

export function createRemoteRequests(parts: RemoteRequestsParts): RemoteRequests {
	const { gate, proxy, isSocket, recordAction } = parts;
	return {
		async forward(request, response, door, { remote, path, url, correlationId }) {
			const { route, params } = locate(request.method ?? "", path);
			const caller = gate.admit(request, door.via, remoteNeed(route), params);
			if (isSocket(route.name)) {
				throw new ReeveError("upgrade_required", `${path} is a WebSocket`);
			}
			const { gone } = watchCaller(response, gate.untilInvalid(caller), door);
			const note = (error: string | null) => {
				if (!isAction(route)) return;
				recordAction({ route, params: onRemote(remote, params), caller, correlationId, error });
			};
			const to = { remote, target: `${path}${url.search}`, correlationId, ends: [gone] };
			await noted(
				() => proxy.forward(request, response, to),
				note,
				(error) => error,
			);
		},
		async upgrade({ request, socket, head }, door, { remote, path, url, correlationId }) {
			const { route, params } = locate(request.method ?? "", path);
			const caller = gate.admit(request, door.via, remoteNeed(route), params);
			// The remote knows this daemon only, and would let it type.
			if (!mayAct(caller)) url.searchParams.set("ro", "1");
			const invalid = gate.untilInvalid(caller);
			const ends = invalid === null ? [door.closing] : [invalid, door.closing];
			const to = { remote, target: `${path}?${url.searchParams}`, correlationId, ends };
			const isOpen = await proxy.upgrade(request, socket, head, to);
			if (!isOpen || !mayAct(caller) || url.searchParams.get("ro") === "1") return;
			recordAction({ route, params: onRemote(remote, params), caller, correlationId, error: null });
		},
	};
}

/** The same parameters, as this daemon's log names them. */
function onRemote(remote: string, params: Record<string, string>): Record<string, string> {
	return { target: joinHost(remote, Object.values(params)[0] ?? "") };
}
