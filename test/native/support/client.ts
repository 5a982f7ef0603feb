/** A connection to a starter or a shim, for tests. */

import { connect, type Socket } from "node:net";
import { Fields, type Frame, FrameStream, frame, TYPE, u8, u16, u32 } from "./frames.js";

type Wanted = (frame: Frame) => boolean;

interface Waiter {
	readonly wanted: Wanted;
	readonly resolve: (frame: Frame) => void;
	readonly reject: (error: Error) => void;
}

export class Client {
	readonly frames: Frame[] = [];
	closed = false;
	private readonly waiters = new Set<Waiter>();
	private readonly closing: (() => void)[] = [];
	private nextId = 1;
	readonly socket: Socket;
	/** Called with each frame, for tests that do not keep them all. */
	onFrame: ((frame: Frame) => boolean) | undefined;

	private constructor(socket: Socket) {
		this.socket = socket;
		const stream = new FrameStream();
		socket.on("data", (bytes) => {
			for (const got of stream.push(bytes)) this.take(got);
		});
		socket.on("error", () => {});
		socket.on("close", () => {
			this.closed = true;
			for (const waiter of this.waiters) waiter.reject(new Error("the connection closed"));
			for (const resolve of this.closing) resolve();
		});
	}

	/** Connects and, unless given another one, says HELLO. */
	static async open(path: string, hello: Buffer | undefined = Client.hello()): Promise<Client> {
		const socket = connect(path);
		await new Promise<void>((resolve, reject) => {
			socket.once("connect", resolve);
			socket.once("error", reject);
		});
		const client = new Client(socket);
		if (hello !== undefined) client.socket.write(hello);
		return client;
	}

	static hello(oldest = 1, newest = 1): Buffer {
		return frame(TYPE.hello, Buffer.from([oldest, newest]));
	}

	private take(got: Frame): void {
		if (this.onFrame?.(got)) return;
		for (const waiter of this.waiters) {
			if (!waiter.wanted(got)) continue;
			this.waiters.delete(waiter);
			waiter.resolve(got);
			return;
		}
		this.frames.push(got);
	}

	/** The first frame that fits, of those that came already or of those to come. */
	wait(wanted: Wanted): Promise<Frame> {
		const index = this.frames.findIndex(wanted);
		const found = this.frames[index];
		if (found !== undefined) {
			this.frames.splice(index, 1);
			return Promise.resolve(found);
		}
		if (this.closed) return Promise.reject(new Error("the connection is closed"));
		return new Promise((resolve, reject) => this.waiters.add({ wanted, resolve, reject }));
	}

	async fields(type: number): Promise<Fields> {
		return new Fields((await this.wait((got) => got.type === type)).payload);
	}

	send(type: number, ...parts: Buffer[]): void {
		this.socket.write(frame(type, Buffer.concat(parts)));
	}

	/** Sends a request with an id and gives the answer behind its id. */
	async ask(
		type: number,
		answers: readonly number[],
		...parts: Buffer[]
	): Promise<[number, Fields]> {
		const id = this.nextId++;
		this.send(type, u32(id), ...parts);
		const got = await this.wait(
			(answer) => answers.includes(answer.type) && answer.payload.readUInt32LE(0) === id,
		);
		const fields = new Fields(got.payload);
		fields.u32();
		return [got.type, fields];
	}

	async input(bytes: string | Buffer, flags = 0): Promise<string> {
		const [type, fields] = await this.ask(
			TYPE.input,
			[TYPE.done, TYPE.notDone],
			u8(flags),
			Buffer.from(bytes as string),
		);
		return type === TYPE.done ? "done" : fields.str();
	}

	async tree(): Promise<number[]> {
		return (await this.ask(TYPE.tree, [TYPE.treeList]))[1].list();
	}

	async kill(deadlineMs = 5000): Promise<{ proven: boolean; killed: number[] }> {
		const [, fields] = await this.ask(TYPE.kill, [TYPE.killed], u32(deadlineMs));
		return { proven: fields.u8() === 1, killed: fields.list() };
	}

	async signal(number: number, target: number): Promise<number[]> {
		return (await this.ask(TYPE.signal, [TYPE.signalled], u32(number), u8(target)))[1].list();
	}

	resize(columns: number, rows: number): void {
		this.send(TYPE.resize, u16(columns), u16(rows));
	}

	/** Resolves when the other side has closed. */
	async end(): Promise<void> {
		if (this.closed) return;
		await new Promise<void>((resolve) => this.closing.push(resolve));
	}

	close(): void {
		this.socket.destroy();
	}
}
