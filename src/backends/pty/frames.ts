/**
 * Frames of the `reeve-shim` protocol (`src/native/PROTOCOL.md`): a length, a type, a version and a payload. Every
 * buffer is bounded, and a peer that breaks the format is distinguished from a slow one (A6).
 */

/** Length of the payload, type, version and two zero bytes. */
const HEADER_BYTES = 8;
/** The largest payload that a shim sends or accepts. */
export const SHIM_PAYLOAD_MAX = 65_536;
/** The starter receives specifications, which contain arguments and environment. */
export const STARTER_PAYLOAD_MAX = 8 * 1024 * 1024;

/** The first frame of every connection, in both directions; it never changes. */
export const HELLO = 1;
/** The other side refuses, with the reason; it never changes. */
export const REFUSED = 2;

export interface VersionRange {
	readonly oldest: number;
	readonly newest: number;
}

export const SUPPORTED_VERSIONS: VersionRange = { oldest: 1, newest: 4 };

export interface Frame {
	readonly type: number;
	readonly payload: Buffer;
}

/** The newest version that both sides support; null if there is none. */
export function agreeOnVersion(ours: VersionRange, theirs: VersionRange): number | null {
	const version = Math.min(ours.newest, theirs.newest);
	return version >= ours.oldest && version >= theirs.oldest ? version : null;
}

export function encodeFrame(
	type: number,
	payload: Uint8Array,
	version = SUPPORTED_VERSIONS.newest,
): Buffer {
	const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
	frame.writeUInt32LE(payload.length, 0);
	frame.writeUInt8(type, 4);
	frame.writeUInt8(version, 5);
	frame.writeUInt16LE(0, 6);
	frame.set(payload, HEADER_BYTES);
	return frame;
}

/** Assembles frames from pieces. Throws on bytes that cannot be a frame. */
export function createFrameDecoder(payloadMax: number): (piece: Buffer) => Frame[] {
	let pieces: Buffer[] = [];
	let held = 0;
	function join(): Buffer {
		const all = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
		pieces = [all];
		return all;
	}
	return (piece) => {
		if (piece.length === 0) return [];
		pieces.push(piece);
		held += piece.length;
		if (held < HEADER_BYTES) return [];
		// A large incomplete payload is not assembled again for every piece.
		if (pieces.length > 1 && held < HEADER_BYTES + needed(pieces)) return [];
		const frames: Frame[] = [];
		let all = join();
		while (all.length >= HEADER_BYTES) {
			const length = all.readUInt32LE(0);
			if (length > payloadMax) throw new Error(`a frame of ${length} bytes exceeds the limit`);
			if (all.readUInt16LE(6) !== 0) throw new Error("not a frame");
			const end = HEADER_BYTES + length;
			if (all.length < end) break;
			frames.push({ type: all.readUInt8(4), payload: all.subarray(HEADER_BYTES, end) });
			all = all.subarray(end);
		}
		held = all.length;
		pieces = held > 0 ? [all] : [];
		return frames;
	};
}

/** The payload's length if the first piece already contains it, otherwise 0. */
function needed([first]: readonly Buffer[]): number {
	return first !== undefined && first.length >= 4 ? first.readUInt32LE(0) : 0;
}
