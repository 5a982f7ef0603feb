/** The frames of the native protocol, written a second time from its page and not from the product's code. */

export const TYPE = {
	hello: 1,
	refused: 2,
	start: 16,
	started: 17,
	failed: 18,
	shimGone: 19,
	strangers: 20,
	strangerList: 21,
	killStrangers: 22,
	strangersKilled: 23,
	status: 32,
	statusReply: 33,
	input: 34,
	done: 35,
	notDone: 36,
	resize: 37,
	signal: 38,
	signalled: 39,
	tree: 40,
	treeList: 41,
	kill: 42,
	killed: 43,
	follow: 44,
	following: 45,
	output: 46,
	unfollow: 47,
	behind: 48,
	query: 49,
	exit: 50,
	treeEmpty: 51,
	ackExit: 52,
	resized: 53,
	redrawn: 54,
	deadline: 55,
} as const;

export interface Frame {
	readonly type: number;
	readonly version: number;
	readonly payload: Buffer;
}

export function frame(type: number, payload: Buffer = Buffer.alloc(0), version = 1): Buffer {
	const header = Buffer.alloc(8);
	header.writeUInt32LE(payload.length, 0);
	header.writeUInt8(type, 4);
	header.writeUInt8(version, 5);
	return Buffer.concat([header, payload]);
}

export function u8(value: number): Buffer {
	return Buffer.from([value]);
}

export function u16(value: number): Buffer {
	const bytes = Buffer.alloc(2);
	bytes.writeUInt16LE(value);
	return bytes;
}

export function u32(value: number): Buffer {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(value);
	return bytes;
}

export function u64(value: number): Buffer {
	const bytes = Buffer.alloc(8);
	bytes.writeBigUInt64LE(BigInt(value));
	return bytes;
}

/** Reads fields one after another. */
export class Fields {
	private at = 0;
	private readonly bytes: Buffer;

	constructor(bytes: Buffer) {
		this.bytes = bytes;
	}

	u8(): number {
		this.at += 1;
		return this.bytes.readUInt8(this.at - 1);
	}
	u16(): number {
		this.at += 2;
		return this.bytes.readUInt16LE(this.at - 2);
	}
	u32(): number {
		this.at += 4;
		return this.bytes.readUInt32LE(this.at - 4);
	}
	u64(): number {
		this.at += 8;
		return Number(this.bytes.readBigUInt64LE(this.at - 8));
	}
	str(): string {
		const length = this.u16();
		this.at += length;
		return this.bytes.toString("utf8", this.at - length, this.at);
	}
	list(): number[] {
		return Array.from({ length: this.u32() }, () => this.u32());
	}
	rest(): Buffer {
		return this.bytes.subarray(this.at);
	}
}

/** Takes whole frames out of a stream of bytes. */
export class FrameStream {
	private waiting: Buffer = Buffer.alloc(0);

	push(bytes: Buffer): Frame[] {
		this.waiting = this.waiting.length === 0 ? bytes : Buffer.concat([this.waiting, bytes]);
		const frames: Frame[] = [];
		while (this.waiting.length >= 8) {
			const length = this.waiting.readUInt32LE(0);
			if (this.waiting.length < 8 + length) break;
			const [type, version] = [this.waiting.readUInt8(4), this.waiting.readUInt8(5)];
			frames.push({ type, version, payload: this.waiting.subarray(8, 8 + length) });
			this.waiting = this.waiting.subarray(8 + length);
		}
		return frames;
	}
}

export interface Exit {
	readonly status: number;
	readonly atMs: number;
	readonly treeEmpty: boolean;
	readonly left: number;
	readonly logOffset: number;
}

export function readExit(fields: Fields): Exit {
	return {
		status: fields.u32(),
		atMs: fields.u64(),
		treeEmpty: fields.u8() === 1,
		left: fields.u32(),
		logOffset: fields.u64(),
	};
}

export interface Status {
	readonly runId: string;
	readonly shim: number;
	readonly shimStart: number;
	readonly agent: number;
	readonly agentStart: number;
	readonly state: number;
	readonly terminal: boolean;
	readonly columns: number;
	readonly rows: number;
	readonly bracketedPaste: boolean;
	readonly startedAtMs: number;
	readonly logOffset: number;
	readonly firstOffset: number;
	readonly queryAt: number | undefined;
	readonly exit: Exit | undefined;
}

export function readStatus(fields: Fields): Status {
	const status = {
		runId: fields.str(),
		shim: fields.u32(),
		shimStart: fields.u64(),
		agent: fields.u32(),
		agentStart: fields.u64(),
		state: fields.u8(),
		terminal: fields.u8() === 1,
		columns: fields.u16(),
		rows: fields.u16(),
		bracketedPaste: fields.u8() === 1,
		startedAtMs: fields.u64(),
		logOffset: fields.u64(),
		firstOffset: fields.u64(),
	};
	const queryAt = fields.u64();
	const none = queryAt > Number.MAX_SAFE_INTEGER;
	return {
		...status,
		queryAt: none ? undefined : queryAt,
		exit: status.state === 2 ? readExit(fields) : undefined,
	};
}

export interface Spec {
	readonly runId: string;
	readonly runDir: string;
	readonly socket: string;
	readonly logDir: string;
	readonly logBytes?: number;
	readonly logFiles?: number;
	readonly cwd: string;
	readonly args: readonly (string | Buffer)[];
	readonly env?: readonly (string | Buffer)[];
	readonly groups?: readonly string[];
	readonly terminal?: boolean;
	readonly columns?: number;
	readonly rows?: number;
	readonly bootId?: string;
	readonly enclosure?: readonly string[];
	readonly agentId?: string;
	/** At this time of /proc/uptime, in milliseconds. */
	readonly deadline?: number;
	readonly graceMs?: number;
}

export function field(tag: number, value: string | Buffer): Buffer {
	const bytes = Buffer.from(value as string);
	return Buffer.concat([u16(tag), u32(bytes.length), bytes]);
}

export function renderSpec(spec: Spec): Buffer {
	return Buffer.concat([
		field(1, spec.runId),
		field(2, spec.runDir),
		field(3, spec.socket),
		field(4, spec.logDir),
		field(5, u64(spec.logBytes ?? 10_000_000)),
		field(6, u32(spec.logFiles ?? 5)),
		field(7, spec.cwd),
		...spec.args.map((arg) => field(8, arg)),
		...(spec.env ?? []).map((entry) => field(9, entry)),
		...(spec.groups ?? []).map((group) => field(10, group)),
		field(11, u8(spec.terminal === false ? 0 : 1)),
		field(12, Buffer.concat([u16(spec.columns ?? 80), u16(spec.rows ?? 24)])),
		field(13, spec.bootId ?? "boot-1"),
		...(spec.enclosure ?? []).map((arg) => field(14, arg)),
		...(spec.agentId === undefined ? [] : [field(15, spec.agentId)]),
		...(spec.deadline === undefined ? [] : [field(16, u64(spec.deadline))]),
		...(spec.graceMs === undefined ? [] : [field(17, u32(spec.graceMs))]),
	]);
}
