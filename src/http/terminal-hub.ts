/**
 * Terminals for viewers: any number may watch an agent, one may type. Whoever asks takes over the
 * typing, and the one before is told. A viewer that falls behind is given a snapshot instead of all
 * it missed (A6).
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Engine } from "../engine/engine.js";
import type { TerminalConnection, TerminalSize } from "../ports/backend.js";
import type { TerminalMessage } from "./contract/streams.js";

const BEHIND_BYTES_MAX = 1_048_576;
const INPUT_BYTES_MAX = 65_536;
const SIZE_MAX = 1_000;
const CLOSE_MS_MAX = 1_000;

/** A request that is to become a WebSocket. */
export interface Upgrade {
	readonly request: IncomingMessage;
	readonly socket: Duplex;
	readonly head: Buffer;
	/** Whether whoever asks may type, if they want to. */
	readonly mayType: boolean;
	/** Called when they type for the first time. */
	readonly onTyping: () => void;
	/** Aborts when the server that it came to ends. */
	readonly closing: AbortSignal;
}

export interface TerminalHub {
	/** Throws when there is no such agent. */
	upgrade(id: string, query: URLSearchParams, upgrade: Upgrade): void;
}

export function createTerminalHub(engine: Engine): TerminalHub {
	const sockets = new WebSocketServer({ noServer: true, maxPayload: INPUT_BYTES_MAX });
	const writers = new Map<string, WebSocket>();

	function takeOver(id: string, socket: WebSocket): void {
		const before = writers.get(id);
		if (before !== undefined && before !== socket) tell(before, { type: "writer", you: false });
		writers.set(id, socket);
		tell(socket, { type: "writer", you: true });
	}

	async function serve(
		id: string,
		query: URLSearchParams,
		socket: WebSocket,
		{ mayType, onTyping }: Pick<Upgrade, "mayType" | "onTyping">,
	): Promise<void> {
		let hasTyped = false;
		const readOnly = query.get("ro") === "1" || !mayType;
		const size = sizeOf(query.get("columns"), query.get("rows"));
		let connection: TerminalConnection | null = null;
		let behind = false;
		const viewer = {
			onSnapshot(bytes: Uint8Array, at: TerminalSize) {
				behind = false;
				tell(socket, { type: "snapshot", columns: at.columns, rows: at.rows });
				socket.send(bytes);
			},
			onOutput(bytes: Uint8Array) {
				if (behind) return;
				if (socket.bufferedAmount < BEHIND_BYTES_MAX) return void socket.send(bytes);
				behind = true;
				resync().catch((error: unknown) => failTerminal(socket, error));
			},
			onClose(reason: string) {
				tell(socket, { type: "closed", reason });
				socket.close();
			},
		};
		const connect = () => engine.terminals.attach(id, viewer, readOnly ? null : size);
		/** Waits until the viewer has read what it was sent, then begins anew with a snapshot. */
		async function resync(): Promise<void> {
			connection?.close();
			while (socket.readyState === socket.OPEN && socket.bufferedAmount > 0) {
				await new Promise((resolve) => setTimeout(resolve, 50));
			}
			if (socket.readyState === socket.OPEN) connection = await connect();
		}

		connection = await connect();
		if (readOnly) tell(socket, { type: "writer", you: false });
		else takeOver(id, socket);
		socket.on("message", (data: Buffer, isBinary) => {
			if (readOnly) return;
			if (isBinary) {
				if (writers.get(id) !== socket) return;
				if (!hasTyped) onTyping();
				hasTyped = true;
				connection?.write(data);
				return;
			}
			const message = parseMessage(data);
			if (message?.type === "take_over") takeOver(id, socket);
			if (message?.type === "resize" && writers.get(id) === socket) connection?.resize(message);
		});
		socket.on("close", () => {
			connection?.close();
			if (writers.get(id) === socket) writers.delete(id);
		});
	}

	return {
		upgrade(id, query, { request, socket: raw, head, closing, ...typing }) {
			engine.get(id);
			sockets.handleUpgrade(request, raw, head, (socket) => {
				const end = () => endSocket(socket);
				closing.addEventListener("abort", end);
				socket.on("close", () => closing.removeEventListener("abort", end));
				// A frame that is too large, or none at all, closes this one and nothing else.
				socket.on("error", () => {});
				serve(id, query, socket, typing).catch((error: unknown) => failTerminal(socket, error));
			});
		},
	};
}

function failTerminal(socket: WebSocket, error: unknown): void {
	tell(socket, { type: "closed", reason: error instanceof Error ? error.message : String(error) });
	socket.close();
}

/** Whoever does not answer a good-bye is not waited for. */
function endSocket(socket: WebSocket): void {
	socket.close(1001);
	setTimeout(() => socket.terminate(), CLOSE_MS_MAX).unref();
}

function tell(socket: WebSocket, message: TerminalMessage): void {
	if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
}

function parseMessage(data: Buffer): TerminalMessage | null {
	try {
		const message = JSON.parse(data.toString("utf8")) as TerminalMessage;
		if (message.type !== "resize") return message;
		const size = sizeOf(String(message.columns), String(message.rows));
		return size === null ? null : { type: "resize", ...size };
	} catch {
		return null;
	}
}

function sizeOf(columns: string | null, rows: string | null): TerminalSize | null {
	const size = { columns: Number(columns), rows: Number(rows) };
	const fits = (n: number) => Number.isInteger(n) && n > 0 && n <= SIZE_MAX;
	return fits(size.columns) && fits(size.rows) ? size : null;
}
