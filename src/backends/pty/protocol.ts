/**
 * What the holder and its clients say to each other over a unix socket.
 *
 * A frame is its length (4 bytes, big endian), the length of its header (4 bytes), the header as JSON
 * and bytes. A connection begins with one `hello` each way, which agrees on a version. Within a version
 * only optional keys and new types of requests are added: unknown keys are ignored, an unknown request
 * is answered as such. A holder lives on while its client is upgraded, so both sides name the oldest
 * version that they still speak.
 *
 * A connection that asks to `attach` becomes one viewer's and carries nothing else.
 */

import type {
	Recovered,
	RunExit,
	StartRequest,
	StartResult,
	TerminalSize,
} from "../../ports/backend.js";

export interface VersionRange {
	readonly newest: number;
	readonly oldest: number;
}

export const SPOKEN: VersionRange = { newest: 1, oldest: 1 };

/** The version that both sides speak, or why there is none. */
export function agreeOnVersion(
	ours: VersionRange,
	theirs: VersionRange,
): { readonly version: number } | { readonly refused: string } {
	const version = Math.min(ours.newest, theirs.newest);
	if (version >= ours.oldest && version >= theirs.oldest) return { version };
	const say = ({ oldest, newest }: VersionRange) =>
		oldest === newest ? `version ${newest}` : `versions ${oldest} to ${newest}`;
	return {
		refused: `no common protocol: this side speaks ${say(ours)}, the other ${say(theirs)}`,
	};
}

export interface Hello extends VersionRange {
	readonly type: "hello";
	readonly pid: number;
}

/** What a client asks for; each is answered by a `Reply` with the same id. */
export type Ask =
	| { readonly type: "start"; readonly request: StartRequest }
	| { readonly type: "find"; readonly runId: string }
	/** The frame's bytes are typed. */
	| { readonly type: "input"; readonly runId: string }
	| { readonly type: "screen"; readonly runId: string }
	| { readonly type: "forget"; readonly runId: string };

export type Request = Ask & { readonly id: number };

export type Answer =
	/** With the exit if the run has ended already, which is then not told again. */
	| { readonly type: "started"; readonly result: StartResult; readonly exit?: RunExit }
	| { readonly type: "found"; readonly found: Recovered }
	| { readonly type: "done" }
	/** The frame's bytes are the text. */
	| { readonly type: "text" }
	| { readonly type: "failed"; readonly reason: string };

export type Reply = Answer & { readonly id: number };

/** Sent to every client, asked for or not. */
export interface ExitNotice {
	readonly type: "exit";
	readonly exit: RunExit;
}

/** From a viewer: `attach` first; the bytes of a `write` are typed. */
export type FromViewer =
	| { readonly type: "attach"; readonly runId: string; readonly size: TerminalSize | null }
	| { readonly type: "write" }
	| { readonly type: "resize"; readonly size: TerminalSize };

/** To a viewer; snapshot and output carry bytes. */
export type ToViewer =
	| { readonly type: "snapshot"; readonly size: TerminalSize }
	| { readonly type: "output" }
	| { readonly type: "closed"; readonly reason: string };

export type FromHolder =
	| Hello
	| { readonly type: "refused"; readonly reason: string }
	| Reply
	| ExitNotice
	| ToViewer;

export type FromClient = Hello | Request | FromViewer;

export interface Frame<Header> {
	readonly header: Header;
	readonly bytes: Buffer;
}

/** Room for the largest environment that a system takes, several times over. */
export const FRAME_BYTES_MAX = 32 * 1024 * 1024;

const NO_BYTES = Buffer.alloc(0);

export function encodeFrame(header: FromHolder | FromClient, bytes: Uint8Array = NO_BYTES): Buffer {
	const json = Buffer.from(JSON.stringify(header));
	const lengths = Buffer.allocUnsafe(8);
	lengths.writeUInt32BE(4 + json.length + bytes.length, 0);
	lengths.writeUInt32BE(json.length, 4);
	return Buffer.concat([lengths, json, bytes]);
}

/** Puts frames together from whatever pieces arrive. Throws on what can be no frame. */
export function createFrameDecoder<Header>(): (piece: Buffer) => Frame<Header>[] {
	let pieces: Buffer[] = [];
	let held = 0;

	function take(): Frame<Header> | null {
		if (held < 8) return null;
		const [first = NO_BYTES] = pieces;
		const start = first.length >= 8 ? first : Buffer.concat(pieces);
		const length = start.readUInt32BE(0);
		const headerLength = start.readUInt32BE(4);
		if (length > FRAME_BYTES_MAX || headerLength + 4 > length) throw new Error("not a frame");
		if (held < 4 + length) return null;
		const all = pieces.length === 1 ? first : Buffer.concat(pieces);
		held -= 4 + length;
		pieces = held > 0 ? [all.subarray(4 + length)] : [];
		const header = JSON.parse(all.toString("utf8", 8, 8 + headerLength)) as Header;
		return { header, bytes: all.subarray(8 + headerLength, 4 + length) };
	}

	return (piece) => {
		pieces.push(piece);
		held += piece.length;
		const frames: Frame<Header>[] = [];
		for (let frame = take(); frame !== null; frame = take()) frames.push(frame);
		return frames;
	};
}
