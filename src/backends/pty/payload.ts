/**
 * Values inside a frame's payload: little-endian integers, strings with their length, lists of
 * processes.
 */

/** The value for "none" in an unsigned field of eight bytes. */
const NONE = 0xffff_ffff_ffff_ffffn;

export class PayloadWriter {
	readonly #pieces: Buffer[] = [];

	u8(value: number): this {
		return this.#put(1, (piece) => piece.writeUInt8(value));
	}

	u16(value: number): this {
		return this.#put(2, (piece) => piece.writeUInt16LE(value));
	}

	u32(value: number): this {
		return this.#put(4, (piece) => piece.writeUInt32LE(value));
	}

	u64(value: number): this {
		return this.#put(8, (piece) => piece.writeBigUInt64LE(BigInt(value)));
	}

	text(value: string): this {
		const bytes = Buffer.from(value);
		return this.u16(bytes.length).bytes(bytes);
	}

	bytes(bytes: Uint8Array): this {
		this.#pieces.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
		return this;
	}

	end(): Buffer {
		return Buffer.concat(this.#pieces);
	}

	#put(length: number, write: (piece: Buffer) => void): this {
		const piece = Buffer.allocUnsafe(length);
		write(piece);
		this.#pieces.push(piece);
		return this;
	}
}

/** Throws a RangeError if the payload is too short. */
export class PayloadReader {
	readonly #bytes: Buffer;
	#at = 0;

	constructor(bytes: Buffer) {
		this.#bytes = bytes;
	}

	u8(): number {
		return this.#bytes.readUInt8(this.#step(1));
	}

	u16(): number {
		return this.#bytes.readUInt16LE(this.#step(2));
	}

	u32(): number {
		return this.#bytes.readUInt32LE(this.#step(4));
	}

	u64(): number {
		return Number(this.#bytes.readBigUInt64LE(this.#step(8)));
	}

	/** A start time: compared as text, never used in calculations. */
	u64Text(): string {
		return String(this.#bytes.readBigUInt64LE(this.#step(8)));
	}

	u64OrNone(): number | null {
		const value = this.#bytes.readBigUInt64LE(this.#step(8));
		return value === NONE ? null : Number(value);
	}

	text(): string {
		const length = this.u16();
		const at = this.#step(length);
		if (at + length > this.#bytes.length) throw new RangeError("truncated string");
		return this.#bytes.toString("utf8", at, at + length);
	}

	pids(): number[] {
		const count = this.u32();
		if (count * 4 > this.#bytes.length) throw new RangeError("truncated list");
		return Array.from({ length: count }, () => this.u32());
	}

	rest(): Buffer {
		const at = this.#at;
		this.#at = this.#bytes.length;
		return this.#bytes.subarray(at);
	}

	#step(length: number): number {
		const at = this.#at;
		this.#at += length;
		return at;
	}
}
