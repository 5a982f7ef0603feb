/** Values inside a frame's payload: little-endian integers, strings with their length, lists of processes. */

/** The value for "none" in an unsigned field of eight bytes. */
const NONE = 0xffff_ffff_ffff_ffffn;

const FIRST_BYTES = 64;

export class PayloadWriter {
	#bytes: Buffer;
	#used = 0;

	/** `bytes` is how much room is made first; more is made when it is needed. */
	constructor(bytes = FIRST_BYTES) {
		this.#bytes = Buffer.allocUnsafe(bytes);
	}

	u8(value: number): this {
		const at = this.#take(1);
		this.#bytes.writeUInt8(value, at);
		return this;
	}

	u16(value: number): this {
		const at = this.#take(2);
		this.#bytes.writeUInt16LE(value, at);
		return this;
	}

	u32(value: number): this {
		const at = this.#take(4);
		this.#bytes.writeUInt32LE(value, at);
		return this;
	}

	u64(value: number): this {
		const at = this.#take(8);
		this.#bytes.writeBigUInt64LE(BigInt(value), at);
		return this;
	}

	text(value: string): this {
		const length = Buffer.byteLength(value);
		return this.u16(length).#put(value, length);
	}

	/** A string with a length of four bytes. */
	longText(value: string): this {
		const length = Buffer.byteLength(value);
		return this.u32(length).#put(value, length);
	}

	bytes(bytes: Uint8Array): this {
		const at = this.#take(bytes.length);
		this.#bytes.set(bytes, at);
		return this;
	}

	end(): Buffer {
		return this.#bytes.subarray(0, this.#used);
	}

	#put(value: string, length: number): this {
		const at = this.#take(length);
		this.#bytes.write(value, at, "utf8");
		return this;
	}

	#take(length: number): number {
		const at = this.#used;
		this.#used += length;
		if (this.#used > this.#bytes.length) {
			const larger = Buffer.allocUnsafe(this.#used * 2);
			larger.set(this.#bytes.subarray(0, at));
			this.#bytes = larger;
		}
		return at;
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
