/**
 * One connection to a starter or a shim, after the handshake. Requests carry a number that the response repeats. When
 * the connection is lost, every open request fails with `ConnectionLost`: its outcome is unknown.
 */

import { connect, type Socket } from "node:net";
import {
	agreeOnVersion,
	createFrameDecoder,
	encodeFrame,
	type Frame,
	HELLO,
	REFUSED,
	SUPPORTED_VERSIONS,
	type VersionRange,
} from "./frames.js";
import { PayloadReader, PayloadWriter } from "./payload.js";

/** The request was sent, and its outcome is unknown. */
export class ConnectionLost extends Error {
	override readonly name = "ConnectionLost";
	/** The connection is open, but there was no response. */
	readonly isSilence: boolean;

	constructor(message: string, { isSilence = false } = {}) {
		super(message);
		this.isSilence = isSilence;
	}
}

export interface Peer {
	/** Its name in messages. */
	readonly name: string;
	readonly path: string;
	readonly payloadMax: number;
	/** Types of frames that start with the number of a request. */
	readonly answers: ReadonlySet<number>;
	readonly spoken?: VersionRange;
}

export interface Answer {
	readonly type: number;
	/** The fields after the number. */
	readonly payload: PayloadReader;
}

export interface ConnectionEvents {
	/** A frame that is not a response. */
	onFrame(frame: Frame): void;
	onClose(): void;
}

const HELLO_MS_MAX = 10_000;
const ANSWER_MS_MAX = 30_000;

/** No process listens there, or it has just exited. */
export function isAbsence(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(code ?? "");
}

/** Rejects with the system's error if no process responds, and with a message if the peer refuses. */
export function openConnection(peer: Peer): Promise<Connection> {
	return new Promise((resolve, reject) => {
		const socket = connect(peer.path);
		const connection = new Connection(socket, peer, resolve, reject);
		socket.once("connect", () => connection.greet());
	});
}

type Waiting = { resolve(answer: Answer): void; reject(error: Error): void };

export class Connection {
	readonly #socket: Socket;
	readonly #peer: Peer;
	readonly #waiting = new Map<number, Waiting>();
	readonly #early: Frame[] = [];
	#events: ConnectionEvents | null = null;
	#onHello: ((connection: Connection) => void) | null;
	readonly #onRefusal: (error: Error) => void;
	#hello: PayloadReader | null = null;
	#problem: Error | null = null;
	#version = SUPPORTED_VERSIONS.oldest;
	#lastId = 0;
	#isClosed = false;

	constructor(
		socket: Socket,
		peer: Peer,
		onHello: (connection: Connection) => void,
		onRefusal: (error: Error) => void,
	) {
		this.#socket = socket;
		this.#peer = peer;
		this.#onHello = onHello;
		this.#onRefusal = onRefusal;
		const decode = createFrameDecoder(peer.payloadMax);
		const timer = setTimeout(() => {
			if (this.#hello === null) this.#fail(new Error(`the ${peer.name} does not respond`));
		}, HELLO_MS_MAX);
		socket.on("data", (piece) => {
			try {
				for (const frame of decode(piece)) this.#onFrame(frame);
			} catch (error) {
				this.#fail(error as Error);
			}
		});
		socket.on("error", (error) => this.#fail(error));
		socket.once("close", () => {
			clearTimeout(timer);
			this.#closed();
		});
	}

	/** The fields of the peer's hello after its versions. */
	get hello(): PayloadReader {
		return this.#hello as PayloadReader;
	}

	/** The newest version that both sides speak. */
	get version(): number {
		return this.#version;
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** Bytes that the peer has not read yet. */
	get waitingBytes(): number {
		return this.#socket.writableLength;
	}

	greet(): void {
		const { oldest, newest } = this.#peer.spoken ?? SUPPORTED_VERSIONS;
		this.#socket.write(encodeFrame(HELLO, Uint8Array.of(oldest, newest), oldest));
	}

	/** Frames and the end of the connection are held until this is called. */
	listen(events: ConnectionEvents): void {
		this.#events = events;
		for (const frame of this.#early.splice(0)) events.onFrame(frame);
		if (this.#isClosed) events.onClose();
	}

	send(type: number, payload: Uint8Array): void {
		if (!this.#isClosed) this.#socket.write(encodeFrame(type, payload, this.#version));
	}

	/** The response to a request; `payload` follows its number. */
	ask(type: number, payload: Uint8Array, answerMs = ANSWER_MS_MAX): Promise<Answer> {
		if (this.#isClosed) {
			return Promise.reject(
				new ConnectionLost(`the connection to the ${this.#peer.name} was lost`),
			);
		}
		this.#lastId = (this.#lastId + 1) % 0x1_0000_0000;
		const id = this.#lastId;
		return new Promise((resolve, reject) => {
			const giveUp = setTimeout(() => {
				this.#waiting.delete(id);
				const seconds = Math.round(answerMs / 1_000);
				const message = `the ${this.#peer.name} did not respond within ${seconds} s`;
				reject(new ConnectionLost(message, { isSilence: true }));
			}, answerMs);
			this.#waiting.set(id, {
				resolve(answer) {
					clearTimeout(giveUp);
					resolve(answer);
				},
				reject(error) {
					clearTimeout(giveUp);
					reject(error);
				},
			});
			this.send(type, new PayloadWriter(4 + payload.length).u32(id).bytes(payload).end());
		});
	}

	/** The peer is not read until `resume`. */
	pause(): void {
		this.#socket.pause();
	}

	resume(): void {
		this.#socket.resume();
	}

	close(): void {
		this.#socket.destroy();
	}

	#onFrame(frame: Frame): void {
		if (this.#hello === null) {
			this.#greeted(frame);
			return;
		}
		if (frame.type === REFUSED) {
			this.#fail(refusal(this.#peer.name, frame.payload));
			return;
		}
		if (this.#peer.answers.has(frame.type)) {
			const payload = new PayloadReader(frame.payload);
			const id = payload.u32();
			const waiting = this.#waiting.get(id);
			this.#waiting.delete(id);
			waiting?.resolve({ type: frame.type, payload });
		} else if (this.#events === null) this.#early.push(frame);
		else this.#events.onFrame(frame);
	}

	#greeted({ type, payload }: Frame): void {
		if (type === REFUSED) {
			this.#fail(refusal(this.#peer.name, payload));
			return;
		}
		const reader = new PayloadReader(payload);
		const theirs = { oldest: reader.u8(), newest: reader.u8() };
		const ours = this.#peer.spoken ?? SUPPORTED_VERSIONS;
		const version = agreeOnVersion(ours, theirs);
		if (type !== HELLO || version === null) {
			const versions = `${theirs.oldest} to ${theirs.newest}`;
			this.#fail(
				new Error(
					type === HELLO
						? `the ${this.#peer.name} supports protocol versions ${versions}, this daemon ${ours.oldest} to ${ours.newest}`
						: `the ${this.#peer.name} did not send its greeting first`,
				),
			);
			return;
		}
		this.#version = version;
		this.#hello = reader;
		this.#onHello?.(this);
		this.#onHello = null;
	}

	#fail(error: Error): void {
		this.#problem ??= error;
		this.#socket.destroy();
	}

	#closed(): void {
		this.#isClosed = true;
		const why = this.#problem ?? Object.assign(new Error("hung up"), { code: "ECONNRESET" });
		if (this.#hello === null) this.#onRefusal(why);
		const lost = [...this.#waiting.values()];
		this.#waiting.clear();
		for (const { reject } of lost) {
			reject(new ConnectionLost(`the connection to the ${this.#peer.name} was lost`));
		}
		this.#events?.onClose();
	}
}

const refusal = (name: string, payload: Buffer) =>
	new Error(`the ${name} rejected the request: ${new PayloadReader(payload).text()}`);
