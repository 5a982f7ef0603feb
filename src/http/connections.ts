/**
 * Limits the connections of a listener (A6). On the network, idle connections are cheap to open and wait for headers
 * that may never arrive; without their own limit they would displace real clients. Beyond the limit, the address with
 * the most idle connections loses its oldest one, so a client that opens thousands only displaces itself. Connections
 * with open requests, streams and terminals are never closed.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Connections without an open request. Browsers keep about 6 per page. */
const IDLE_CONNECTIONS_MAX = 250;

/** How long the rest of a request may take to arrive, and the maximum number of connections (A6). */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 60_000, maxConnections: 1_000 };

export function limitConnections(server: Server, via: "network" | "socket"): void {
	Object.assign(server, LIMITS);
	// The socket is private to the user, so no limit is needed.
	if (via === "network") limitIdleConnections(server);
}

interface Peer {
	readonly socket: Socket;
	readonly address: string;
	/** The number of open requests: a client may send the next one before the response. */
	underWay: number;
}

export function limitIdleConnections(server: Server, idleMax = IDLE_CONNECTIONS_MAX): void {
	/** By address and port: with TLS, a request refers to another socket object than its connection. */
	const peers = new Map<string, Peer>();
	/** Their keys by address, longest idle first. */
	const idle = new Map<string, Set<string>>();
	let idleCount = 0;

	const setBusy = (key: string, address: string) => {
		const own = idle.get(address);
		if (!own?.delete(key)) return;
		idleCount -= 1;
		if (own.size === 0) idle.delete(address);
	};
	const begin = (socket: Socket) => {
		const key = keyOf(socket);
		const peer = peers.get(key);
		if (peer === undefined) return;
		peer.underWay += 1;
		setBusy(key, peer.address);
	};
	const end = (key: string) => {
		const peer = peers.get(key);
		if (peer === undefined) return;
		peer.underWay -= 1;
		if (peer.underWay === 0) setIdle(key, peer);
	};
	const setIdle = (key: string, peer: Peer) => {
		const own = idle.get(peer.address) ?? new Set();
		idle.set(peer.address, own.add(key));
		idleCount += 1;
		if (idleCount > idleMax) closeOne();
	};
	const closeOne = () => {
		const largest = [...idle.values()].reduce((a, b) => (b.size > a.size ? b : a));
		const [oldest = ""] = largest;
		const peer = peers.get(oldest);
		if (peer === undefined) return;
		setBusy(oldest, peer.address);
		peer.socket.destroy();
	};

	server.on("connection", (socket: Socket) => {
		const key = keyOf(socket);
		const address = socket.remoteAddress ?? "";
		const peer = { socket, address, underWay: 0 };
		peers.set(key, peer);
		setIdle(key, peer);
		socket.once("close", () => {
			if (peers.get(key) !== peer) return;
			setBusy(key, address);
			peers.delete(key);
		});
	});
	server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
		const key = keyOf(socket);
		begin(socket);
		response.once("close", () => end(key));
	});
	server.on("upgrade", ({ socket }: IncomingMessage) => begin(socket));
}

const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
