/**
 * The holder's side of every connection: agrees on a version, answers requests, tells of exits, and
 * carries a terminal to its viewers. Nothing that comes over a connection can hurt another one.
 */

import { createServer, type Server, type Socket } from "node:net";
import type { RunExit } from "../../../ports/backend.js";
import {
	type Answer,
	agreeOnVersion,
	createFrameDecoder,
	encodeFrame,
	type Frame,
	type FromClient,
	type FromHolder,
	type FromViewer,
	type Request,
	SPOKEN,
} from "../protocol.js";
import type { Viewing } from "./run.js";
import type { RunKeeper } from "./run-keeper.js";

export interface HolderServer {
	listen(path: string): Promise<void>;
	tellExit(exit: RunExit): void;
	/** Connections that are open. */
	readonly count: number;
	close(): void;
}

/** What may wait in a viewer's connection before it is left out. */
const VIEWER_BYTES_MAX = 1024 * 1024;
/** A client that does not read is cut off; it asks again when it is back. */
const CLIENT_BYTES_MAX = 64 * 1024 * 1024;

export function createHolderServer(keeper: RunKeeper, onCount: () => void): HolderServer {
	const connections = new Set<Connection>();
	const server: Server = createServer((socket) => {
		const connection = new Connection(socket, keeper);
		connections.add(connection);
		onCount();
		socket.on("close", () => {
			connection.closed();
			connections.delete(connection);
			onCount();
		});
	});
	// Such as too many open files: the next connection may work.
	server.on("error", () => {});

	return {
		listen: (path) =>
			new Promise((resolve, reject) => {
				server.once("error", reject);
				server.listen(path, () => {
					server.removeListener("error", reject);
					resolve();
				});
			}),
		tellExit(exit) {
			for (const connection of connections) connection.tellExit(exit);
		},
		get count() {
			return connections.size;
		},
		close() {
			server.close();
			for (const connection of connections) connection.end();
		},
	};
}

class Connection {
	readonly #socket: Socket;
	readonly #keeper: RunKeeper;
	#state: "new" | "client" | "viewer" = "new";
	#viewing: Viewing | null = null;

	constructor(socket: Socket, keeper: RunKeeper) {
		this.#socket = socket;
		this.#keeper = keeper;
		const decode = createFrameDecoder<FromClient>();
		socket.on("data", (piece) => {
			try {
				for (const frame of decode(piece)) this.#onFrame(frame);
			} catch {
				socket.destroy();
			}
		});
		socket.on("error", () => socket.destroy());
		socket.on("drain", () => this.#viewing?.catchUp());
	}

	tellExit(exit: RunExit): void {
		if (this.#state === "client") this.#send({ type: "exit", exit });
	}

	end(): void {
		this.#socket.end();
	}

	closed(): void {
		this.#viewing?.close();
	}

	#send(header: FromHolder, bytes?: Uint8Array): void {
		if (this.#socket.destroyed) return;
		this.#socket.write(encodeFrame(header, bytes));
		if (this.#socket.writableLength > CLIENT_BYTES_MAX) this.#socket.destroy();
	}

	#onFrame({ header, bytes }: Frame<FromClient>): void {
		if (this.#state === "new") this.#greet(header);
		else if (this.#viewing !== null) this.#onViewer(header as FromViewer, bytes);
		else if (header.type === "attach") this.#attach(header);
		else void this.#answer(header as Request, bytes);
	}

	#greet(header: FromClient): void {
		if (header.type !== "hello") {
			this.#socket.destroy();
			return;
		}
		const agreed = agreeOnVersion(SPOKEN, header);
		if ("refused" in agreed) {
			this.#send({ type: "refused", reason: agreed.refused });
			this.#socket.end();
			return;
		}
		this.#state = "client";
		this.#send({ type: "hello", ...SPOKEN, pid: process.pid });
	}

	async #answer(request: Request, bytes: Buffer): Promise<void> {
		let answer: Answer;
		let text: Buffer | undefined;
		try {
			answer = await this.#perform(request, bytes, (found) => {
				text = Buffer.from(found);
			});
		} catch (error) {
			answer = { type: "failed", reason: (error as Error).message };
		}
		this.#send({ ...answer, id: request.id }, text);
	}

	async #perform(request: Request, bytes: Buffer, onText: (text: string) => void): Promise<Answer> {
		switch (request.type) {
			case "start": {
				const result = await this.#keeper.start(request.request);
				const found = this.#keeper.find(request.request.runId);
				return { type: "started", result, ...(found.state === "exited" ? found : {}) };
			}
			case "find":
				return { type: "found", found: this.#keeper.find(request.runId) };
			case "input":
				await this.#terminalOf(request.runId).input(bytes);
				return { type: "done" };
			case "screen":
				onText(await this.#terminalOf(request.runId).text());
				return { type: "text" };
			case "forget":
				this.#keeper.forget(request.runId);
				return { type: "done" };
			default:
				return { type: "failed", reason: "this holder does not know such a request" };
		}
	}

	#terminalOf(runId: string) {
		const terminal = this.#keeper.terminalOf(runId);
		if (terminal === null) throw new Error(`run ${runId} has no terminal here`);
		return terminal;
	}

	#attach({ runId, size }: FromViewer & { type: "attach" }): void {
		this.#state = "viewer";
		const terminal = this.#keeper.terminalOf(runId);
		if (terminal === null) {
			this.#close(`run ${runId} has no terminal here`);
			return;
		}
		this.#viewing = terminal.attach(
			{
				onOutput: (bytes) => {
					this.#send({ type: "output" }, bytes);
					return this.#socket.writableLength < VIEWER_BYTES_MAX;
				},
				onSnapshot: (bytes, at) => this.#send({ type: "snapshot", size: at }, bytes),
				onClose: (reason) => this.#close(reason),
			},
			size,
		);
	}

	#onViewer(header: FromViewer, bytes: Buffer): void {
		if (header.type === "write") this.#viewing?.write(bytes);
		else if (header.type === "resize") this.#viewing?.resize(header.size);
	}

	#close(reason: string): void {
		this.#send({ type: "closed", reason });
		this.#socket.end();
	}
}
