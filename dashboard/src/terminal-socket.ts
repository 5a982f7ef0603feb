/** The terminal of an agent over a WebSocket: bytes in both directions, and who has the keyboard. */

import type { KeyboardJson as Keyboard } from "../../src/http/contract/agent-parts.js";
import type { TerminalMessage } from "../../src/http/contract/streams.js";
import { agentUrl } from "./api.js";

export interface TerminalEvents {
	/** The next bytes draw the whole screen of this size. */
	readonly onSnapshot: (columns: number, rows: number) => void;
	readonly onBytes: (bytes: Uint8Array) => void;
	/** Whether the input of this page is accepted, and whose is. */
	readonly onWriter: (you: boolean, holder: Keyboard | null) => void;
	readonly onClose: (reason: string) => void;
}

export interface TerminalSocket {
	write(text: string): void;
	resize(columns: number, rows: number): void;
	close(): void;
}

interface Options {
	/** `type` only gets the keyboard while it is free. */
	readonly want: "watch" | "type" | "take_over";
	/** Whether this page answers what the program asks its terminal. */
	readonly answers: boolean;
	readonly size?: { readonly columns: number; readonly rows: number };
}

export function openTerminal(
	id: string,
	{ want, answers, size }: Options,
	events: TerminalEvents,
): TerminalSocket {
	const query = new URLSearchParams({
		...(want === "watch" ? { ro: "1" } : {}),
		...(answers ? {} : { answers: "0" }),
		...(size ? { columns: String(size.columns), rows: String(size.rows) } : {}),
	});
	const base = location.origin.replace(/^http/, "ws");
	const socket = new WebSocket(`${base}${agentUrl(id, `terminal?${query}`)}`);
	socket.binaryType = "arraybuffer";
	let [reason, closed] = ["the connection was lost", false];
	socket.onmessage = ({ data }) => {
		if (data instanceof ArrayBuffer) return events.onBytes(new Uint8Array(data));
		const message = JSON.parse(String(data)) as TerminalMessage;
		if (message.type === "snapshot") events.onSnapshot(message.columns, message.rows);
		if (message.type === "writer") events.onWriter(message.you, message.holder);
		if (message.type === "closed") reason = message.reason;
	};
	socket.onopen = () => {
		if (want === "take_over") send(JSON.stringify({ type: "take_over" }));
	};
	socket.onclose = () => {
		if (!closed) events.onClose(reason);
	};
	const encoder = new TextEncoder();
	const send = (data: string | Uint8Array<ArrayBuffer>) => {
		if (socket.readyState === WebSocket.OPEN) socket.send(data);
	};
	return {
		write: (text) => send(encoder.encode(text)),
		resize: (columns, rows) => send(JSON.stringify({ type: "resize", columns, rows })),
		close() {
			closed = true;
			socket.close();
		},
	};
}
