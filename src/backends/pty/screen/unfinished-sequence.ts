/**
 * The bytes at the end of a stream that belong to an incomplete escape sequence, control string or
 * character. A snapshot at that point includes them, so that the following output is parsed correctly.
 */

/** A longer string is probably an image, and is not repeated. */
const UNFINISHED_BYTES_MAX = 64 * 1024;

const ESC = 0x1b;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;

type State = "ground" | "escape" | "sequence" | "string" | "string-escape" | "character";

export interface SequenceTracker {
	push(bytes: Uint8Array): void;
	/** Null if they are too many to be kept. */
	unfinished(): Buffer | null;
}

export function createSequenceTracker(): SequenceTracker {
	let state: State = "ground";
	/** Bytes that the current character still needs. */
	let needed = 0;
	let kept: Buffer[] = [];
	let keptBytes = 0;

	function next(byte: number): State {
		if (byte === CAN || byte === SUB) return "ground";
		switch (state) {
			case "string":
				if (byte === BEL) return "ground";
				return byte === ESC ? "string-escape" : "string";
			case "string-escape":
				// Any byte after an escape ends the string; only a backslash has no other effect.
				return byte === 0x5c ? "ground" : afterEscape(byte);
			case "escape":
				return afterEscape(byte);
			case "sequence":
				if (byte === ESC) return "escape";
				return byte >= 0x40 && byte <= 0x7e ? "ground" : "sequence";
			case "character":
				if (byte >> 6 !== 0b10) return fromGround(byte);
				return --needed > 0 ? "character" : "ground";
			case "ground":
				return fromGround(byte);
		}
	}

	function fromGround(byte: number): State {
		if (byte === ESC) return "escape";
		needed = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc2 ? 1 : 0;
		return byte < 0xf5 && needed > 0 ? "character" : "ground";
	}

	return {
		push(bytes) {
			let from = 0;
			for (let at = 0; at < bytes.length; at++) {
				const before = state;
				state = next(bytes[at] as number);
				const begins =
					state !== "ground" &&
					(before === "ground" ||
						(state === "escape" && before !== "escape") ||
						(before === "character" && needed > 0 && isLead(bytes[at] as number)));
				if (state === "ground" || begins) {
					kept = [];
					keptBytes = 0;
					from = state === "ground" ? at + 1 : at;
				}
			}
			if (state === "ground" || from >= bytes.length) return;
			keptBytes += bytes.length - from;
			if (keptBytes <= UNFINISHED_BYTES_MAX) kept.push(Buffer.from(bytes.subarray(from)));
			else kept = [];
		},
		unfinished() {
			if (state === "ground") return Buffer.alloc(0);
			return keptBytes > UNFINISHED_BYTES_MAX ? null : Buffer.concat(kept);
		},
	};
}

const isLead = (byte: number) => byte >= 0xc2;

function afterEscape(byte: number): State {
	if (byte === ESC) return "escape";
	// CSI, and the strings DCS, SOS, OSC, PM and APC.
	if (byte === 0x5b) return "sequence";
	if ([0x50, 0x58, 0x5d, 0x5e, 0x5f].includes(byte)) return "string";
	// Intermediates, such as those that select a character set.
	return byte >= 0x20 && byte <= 0x2f ? "escape" : "ground";
}
