/**
 * Terminals for viewers: any number may watch an agent, one may type, and all know who. Only the one that types
 * sets the size. A viewer that falls behind gets a snapshot instead of the missed output (A6).
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { messageOf } from "../core/message-of.js";
import type { Engine } from "../engine/engine.js";
import type { TerminalConnection, TerminalSize, TerminalViewer } from "../ports/backend.js";
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
	return {
		async upgrade(id, query, { request, socket: raw, head, ...rights }) {
			engine.get(id);
			sockets ??= loadSockets();
			(await untilLoaded(raw, sockets)).handleUpgrade(request, raw, head, (socket) => {
				closeInTime(socket, rights);
				// An oversized or invalid frame closes only this connection.
				socket.on("error", () => {});
				new ViewedTerminal({ engine, keyboards, id, query, socket, rights })
					.serve()
					.catch((error: unknown) => failTerminal(socket, error));
			});
		},
	};
}

interface ViewedParts {
	readonly engine: Engine;
	readonly keyboards: Keyboards;
	readonly id: string;
	readonly query: URLSearchParams;
	readonly socket: WebSocket;
	readonly rights: Omit<Upgrade, "request" | "socket" | "head">;
}

/** The terminal of an agent as one viewer sees it. */
class ViewedTerminal implements TerminalViewer {
	readonly #parts: ViewedParts;
	readonly #seat: Viewer;
	readonly #readOnly: boolean;
	readonly #isAnswering: boolean;
	#size: TerminalSize | null;
	#connection: TerminalConnection | null = null;
	#hasTyped = false;
	/** The keyboard was asked for before the terminal was there. */
	#takesOver = false;
	#behind = false;

	constructor(parts: ViewedParts) {
		const { query, socket, rights } = parts;
		const { by, who, label } = rights;
		this.#parts = parts;
		this.#readOnly = query.get("ro") === "1" || !rights.mayType;
		this.#isAnswering = query.get("answers") !== "0";
		this.#size = sizeOf(query.get("columns"), query.get("rows"));
		this.#seat = {
			...{ by, who, label },
			notify: (you, holder) => {
				sendTo(socket, { type: "writer", you, holder });
				if (you && this.#size !== null) this.#connection?.resize(this.#size);
			},
		};
	}

	async serve(): Promise<void> {
		const { socket, keyboards, id } = this.#parts;
		socket.on("message", (data: Buffer, isBinary) => this.#onMessage(data, isBinary));
		socket.on("close", () => {
			this.#connection?.close();
			keyboards.leave(id, this.#seat);
		});
		await this.#connect();
		// Not earlier: keys that a viewer types once it has the keyboard must arrive.
		if (!this.#isOpen) return;
		if (this.#readOnly) keyboards.watch(id, this.#seat);
		else if (this.#takesOver) keyboards.take(id, this.#seat);
		else keyboards.join(id, this.#seat);
	}

	readonly answers = () => this.#isAnswering && this.#isWriter;

	readonly onSnapshot = (bytes: Uint8Array, { columns, rows }: TerminalSize) => {
		this.#behind = false;
		if (!this.#isOpen) return;
		sendTo(this.#parts.socket, { type: "snapshot", columns, rows });
		this.#parts.socket.send(bytes);
	};

	readonly onOutput = (bytes: Uint8Array) => {
		const { socket } = this.#parts;
		if (this.#behind || !this.#isOpen) return;
		if (socket.bufferedAmount < BEHIND_BYTES_MAX) return void socket.send(bytes);
		this.#behind = true;
		this.#resync().catch((error: unknown) => failTerminal(socket, error));
	};

	readonly onClose = (reason: string) => {
		sendTo(this.#parts.socket, { type: "closed", reason });
		this.#parts.socket.close();
	};

	get #isOpen(): boolean {
		const { socket } = this.#parts;
		return socket.readyState === socket.OPEN;
	}

	get #isWriter(): boolean {
		return this.#parts.keyboards.has(this.#parts.id, this.#seat);
	}

	async #connect(): Promise<void> {
		const { engine, id } = this.#parts;
		const given = this.#isWriter ? this.#size : null;
		const opened = await engine.terminals.attach(id, this, given);
		if (!this.#isOpen) return opened.close();
		this.#connection = opened;
		// It may have got the keyboard, or another window, in the meantime.
		if (this.#isWriter && this.#size !== null && this.#size !== given) opened.resize(this.#size);
	}

	/** Waits until the viewer has read everything, then restarts with a snapshot. */
	async #resync(): Promise<void> {
		this.#connection?.close();
		while (this.#isOpen && this.#parts.socket.bufferedAmount > 0) {
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		if (this.#isOpen) await this.#connect();
	}

	#onMessage(data: Buffer, isBinary: boolean): void {
		const { socket, keyboards, id, rights } = this.#parts;
		if (this.#readOnly || !this.#isOpen) return;
		try {
			rights.recheck();
		} catch (error) {
			return void failTerminal(socket, error, POLICY_VIOLATION);
		}
		if (isBinary) {
			if (!this.#isWriter) return;
			if (!this.#hasTyped) rights.onTyping();
			this.#hasTyped = true;
			this.#connection?.write(data);
			return;
		}
		const message = parseMessage(data);
		if (message?.type === "take_over") {
			if (this.#connection === null) this.#takesOver = true;
			else keyboards.take(id, this.#seat);
		}
		if (message?.type !== "resize") return;
		this.#size = { columns: message.columns, rows: message.rows };
		if (this.#isWriter) this.#connection?.resize(this.#size);
	}
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
	sendTo(socket, { type: "closed", reason: messageOf(error) });
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

/** A message that a viewer may send besides its input; null for anything else. */
function parseMessage(
	data: Buffer,
): Extract<TerminalMessage, { type: "resize" | "take_over" }> | null {
	try {
		const { type, columns, rows } = JSON.parse(data.toString("utf8")) as Record<string, unknown>;
		if (type === "take_over") return { type };
		const size = type === "resize" ? sizeOf(String(columns), String(rows)) : null;
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
