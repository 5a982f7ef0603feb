/** A network that a test can cut or freeze. */

import { connect as connectTo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface NetworkProxy {
	readonly port: number;
	/** `frozen`: connections stay open and carry no data. */
	set(mode: "open" | "cut" | "frozen"): void;
	/** Forwards new connections to another port. */
	forwardTo(port: number): void;
}

/** Forwards connections to this port of loopback. */
export async function startProxy(port: number): Promise<NetworkProxy> {
	let target = port;
	let mode: "open" | "cut" | "frozen" = "open";
	const sockets = new Set<Socket>();
	const add = (socket: Socket) => {
		sockets.add(socket);
		socket.on("close", () => sockets.delete(socket)).on("error", () => {});
		if (mode === "frozen") socket.pause();
	};
	const server = createServer((client) => {
		if (mode === "cut") return void client.destroy();
		const upstream = connectTo(target, "127.0.0.1");
		for (const socket of [client, upstream]) add(socket);
		client.on("data", (chunk) => upstream.write(chunk)).on("close", () => upstream.destroy());
		upstream.on("data", (chunk) => client.write(chunk)).on("close", () => client.destroy());
		if (mode === "frozen") for (const socket of [client, upstream]) socket.pause();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	return {
		port: (server.address() as { port: number }).port,
		forwardTo(next) {
			target = next;
		},
		set(next) {
			mode = next;
			for (const socket of sockets) {
				if (mode === "cut") socket.destroy();
				else if (mode === "frozen") socket.pause();
				else socket.resume();
			}
		},
	};
}
