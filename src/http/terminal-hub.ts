/**
 * Terminals for viewers: any number may watch an agent, one may type, and all know who. Only the one that types
 * sets the size. A viewer that falls behind gets a snapshot instead of the missed output (A6).
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { messageOf } from "../core/message-of.js";
import type { Engine } from "../engine/engine.js";
import type { TerminalConnection, TerminalSize } from "../ports/backend.js";
import type { TerminalMessage } from "./contract/streams.js";
import type { Keyboards, Viewer } from "./keyboards.js";

const BEHIND_BYTES_MAX = 1_048_576;
const INPUT_BYTES_MAX = 65_536;
const SIZE_MAX = 1_000;
const CLOSE_MS_MAX = 1_000;
/** Codes of RFC 6455. */
const GOING_AWAY = 1_001;
const POLICY_VIOLATION = 1_008;

/** A request that becomes a WebSocket. */
export interface Upgrade extends Pick<Viewer, "by" | "who" | "label"> {
	readonly request: IncomingMessage;
	readonly socket: Duplex;
	readonly head: Buffer;
	/** Whether the viewer may type. */
	readonly mayType: boolean;
	/** Called when the viewer types for the first time. */
	readonly onTyping: () => void;
	/** Aborts when the server of the request closes. */
	readonly closing: AbortSignal;
	/** Aborts when the viewer's token or login becomes invalid; null if it has none (A8). */
	readonly invalid: AbortSignal | null;
	/** Throws if it has become invalid. */
	readonly recheck: () => void;
}

export interface TerminalHub {
	/** Fails if there is no such agent. */
	upgrade(id: string, query: URLSearchParams, upgrade: Upgrade): Promise<void>;
}

export function createTerminalHub(engine: Engine, keyboards: Keyboards): TerminalHub {
	let sockets: Promise<WebSocketServer> | null = null;

	async function serve(
		id: string,
		query: URLSearchParams,
		socket: WebSocket,
		{
			mayType,
			onTyping,
			recheck,
			...person
		}: Pick<Upgrade, "mayType" | "onTyping" | "recheck" | "by" | "who" | "label">,
	): Promise<void> {
		let hasTyped = false;
		/** Asked for before the terminal was there. */
		let takesOver = false;
		const readOnly = query.get("ro") === "1" || !mayType;
		const isAnswering = query.get("answers") !== "0";
		let size = sizeOf(query.get("columns"), query.get("rows"));
		let connection: TerminalConnection | null = null;
		let behind = false;
		const seat: Viewer = {
			...person,
			notify(you, holder) {
				sendTo(socket, { type: "writer", you, holder });
				if (you && size !== null) connection?.resize(size);
			},
		};
		const isWriter = () => keyboards.has(id, seat);
		const viewer = {
			answers: () => isAnswering && isWriter(),
			onSnapshot(bytes: Uint8Array, at: TerminalSize) {
				behind = false;
				if (socket.readyState !== socket.OPEN) return;
				sendTo(socket, { type: "snapshot", columns: at.columns, rows: at.rows });
				socket.send(bytes);
			},
			onOutput(bytes: Uint8Array) {
				if (behind || socket.readyState !== socket.OPEN) return;
				if (socket.bufferedAmount < BEHIND_BYTES_MAX) return void socket.send(bytes);
				behind = true;
				resync().catch((error: unknown) => failTerminal(socket, error));
			},
			onClose(reason: string) {
				sendTo(socket, { type: "closed", reason });
				socket.close();
			},
		};
		async function connect(): Promise<void> {
			const given = isWriter() ? size : null;
			const opened = await engine.terminals.attach(id, viewer, given);
			if (socket.readyState !== socket.OPEN) return opened.close();
			connection = opened;
			// It may have got the keyboard, or another window, in the meantime.
			if (isWriter() && size !== null && size !== given) opened.resize(size);
		}
		/** Waits until the viewer has read everything, then restarts with a snapshot. */
		async function resync(): Promise<void> {
			connection?.close();
			while (socket.readyState === socket.OPEN && socket.bufferedAmount > 0) {
				await new Promise((resolve) => setTimeout(resolve, 50));
			}
			if (socket.readyState === socket.OPEN) await connect();
		}

		socket.on("message", (data: Buffer, isBinary) => {
			if (readOnly || socket.readyState !== socket.OPEN) return;
			try {
				recheck();
			} catch (error) {
				return void failTerminal(socket, error, POLICY_VIOLATION);
			}
			if (isBinary) {
				if (!isWriter()) return;
				if (!hasTyped) onTyping();
				hasTyped = true;
				connection?.write(data);
				return;
			}
			const message = parseMessage(data);
			if (message?.type === "take_over") {
				if (connection === null) takesOver = true;
				else keyboards.take(id, seat);
			}
			if (message?.type !== "resize") return;
			size = { columns: message.columns, rows: message.rows };
			if (isWriter()) connection?.resize(size);
		});
		socket.on("close", () => {
			connection?.close();
			keyboards.leave(id, seat);
		});
		await connect();
		// Not earlier: keys that a viewer types once it has the keyboard must arrive.
		if (socket.readyState !== socket.OPEN) return;
		if (readOnly) keyboards.watch(id, seat);
		else if (takesOver) keyboards.take(id, seat);
		else keyboards.join(id, seat);
	}

	return {
		async upgrade(id, query, { request, socket: raw, head, ...rights }) {
			engine.get(id);
			sockets ??= loadSockets();
			(await untilLoaded(raw, sockets)).handleUpgrade(request, raw, head, (socket) => {
				closeInTime(socket, rights);
				// An oversized or invalid frame closes only this connection.
				socket.on("error", () => {});
				serve(id, query, socket, rights).catch((error: unknown) => failTerminal(socket, error));
			});
		},
	};
}

/** Most daemons never need WebSockets, so the code is loaded on first use. */
async function loadSockets(): Promise<WebSocketServer> {
	const { WebSocketServer } = await import("ws");
	return new WebSocketServer({ noServer: true, maxPayload: INPUT_BYTES_MAX });
}

/** Without a listener, a viewer that disconnects in the meantime would crash the daemon. */
async function untilLoaded<T>(raw: Duplex, loading: Promise<T>): Promise<T> {
	const ignore = () => {};
	raw.on("error", ignore);
	try {
		return await loading;
	} finally {
		raw.off("error", ignore);
	}
}

function failTerminal(socket: WebSocket, error: unknown, code?: number): void {
	sendTo(socket, {
		type: "closed",
		reason: messageOf(error),
	});
	endSocket(socket, code);
}

/** Closes the connection when the server closes, or the viewer's token or login becomes invalid. */
function closeInTime(
	socket: WebSocket,
	{ closing, invalid, recheck }: Pick<Upgrade, "closing" | "invalid" | "recheck">,
): void {
	const end = () => endSocket(socket, GOING_AWAY);
	const drop = () => dropViewer(socket, recheck);
	closing.addEventListener("abort", end);
	invalid?.addEventListener("abort", drop);
	socket.on("close", () => {
		closing.removeEventListener("abort", end);
		invalid?.removeEventListener("abort", drop);
	});
}

function dropViewer(socket: WebSocket, recheck: () => void): void {
	try {
		recheck();
	} catch (error) {
		failTerminal(socket, error, POLICY_VIOLATION);
	}
}

/** A peer that does not complete the closing handshake in time is disconnected. */
function endSocket(socket: WebSocket, code?: number): void {
	socket.close(code);
	setTimeout(() => socket.terminate(), CLOSE_MS_MAX).unref();
}

function sendTo(socket: WebSocket, message: TerminalMessage): void {
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
