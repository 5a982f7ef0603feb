/**
 * One standing connection to the holder for requests and exits. It is made when first needed and again
 * whenever it drops. What can be asked twice is asked again on the new connection; typing cannot, and
 * fails.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { RunExit } from "../../ports/backend.js";
import { type Greeted, type HolderPlace, reachHolder } from "./holder-process.js";
import { type Ask, encodeFrame, type Frame, type FromHolder, type Reply } from "./protocol.js";

export interface ClientEvents {
	onExit(exit: RunExit): void;
	/** The connection dropped. True when it is to be made again at once. */
	onDrop(): boolean;
	/** A new connection stands; resolves when whatever was missed has been asked for. */
	onReconnect(): Promise<void>;
}

/** The request was sent, and nobody knows what became of it. */
export class ConnectionLost extends Error {
	override readonly name = "ConnectionLost";
	/** The connection stands, but no answer came. */
	readonly isSilence: boolean;

	constructor(message: string, { isSilence = false } = {}) {
		super(message);
		this.isSilence = isSilence;
	}
}

const TRIES_MAX = 3;
const ANSWER_MS_MAX = 30_000;
const RECONNECT_MS_MAX = 2_000;

type Waiting = { resolve(frame: Frame<Reply>): void; reject(error: Error): void };

export class HolderClient {
	readonly #place: HolderPlace;
	readonly #events: ClientEvents;
	readonly #waiting = new Map<number, Waiting>();
	#connection: Promise<Greeted> | null = null;
	#lastId = 0;
	#isClosed = false;

	constructor(place: HolderPlace, events: ClientEvents) {
		this.#place = place;
		this.#events = events;
	}

	/** The answer; rejects when the holder cannot be reached or says that it failed. */
	async ask(ask: Ask, bytes?: Uint8Array): Promise<Frame<Reply>> {
		let lost: ConnectionLost | null = null;
		for (let tries = 1; ; tries++) {
			try {
				const frame = await this.#send(ask, bytes);
				if (frame.header.type === "failed") throw new Error(frame.header.reason);
				return frame;
			} catch (error) {
				const isLost = error instanceof ConnectionLost;
				if (isLost) lost = error;
				const isRepeatable = isLost && !error.isSilence && ask.type !== "input";
				if (!isRepeatable || tries >= TRIES_MAX || this.#isClosed) throw lost ?? error;
			}
		}
	}

	/** Does not wait for a connection that is still being made. */
	close(): void {
		this.#isClosed = true;
		const connection = this.#connection;
		this.#connection = null;
		this.#dropAll();
		connection?.then(
			({ socket }) => socket.destroy(),
			() => {},
		);
	}

	async #send(ask: Ask, bytes?: Uint8Array): Promise<Frame<Reply>> {
		const { socket } = await this.#connect();
		const id = ++this.#lastId;
		return new Promise((resolve, reject) => {
			if (socket.destroyed)
				return reject(new ConnectionLost("the connection to the holder dropped"));
			const giveUp = setTimeout(() => {
				this.#waiting.delete(id);
				const message = `no answer from the holder within ${ANSWER_MS_MAX / 1_000} s`;
				reject(new ConnectionLost(message, { isSilence: true }));
			}, ANSWER_MS_MAX);
			this.#waiting.set(id, {
				resolve(frame) {
					clearTimeout(giveUp);
					resolve(frame);
				},
				reject(error) {
					clearTimeout(giveUp);
					reject(error);
				},
			});
			socket.write(encodeFrame({ ...ask, id }, bytes));
		});
	}

	#connect(): Promise<Greeted> {
		if (this.#isClosed) return Promise.reject(new Error("the backend is closed"));
		this.#connection ??= this.#open();
		return this.#connection;
	}

	async #open(): Promise<Greeted> {
		try {
			const greeted = await reachHolder(this.#place);
			greeted.socket.once("close", () => this.#onClose());
			greeted.receive((frame) => this.#onFrame(frame));
			return greeted;
		} catch (error) {
			this.#connection = null;
			throw error;
		}
	}

	#onFrame({ header, bytes }: Frame<FromHolder>): void {
		if (header.type === "exit") this.#events.onExit(header.exit);
		if (!("id" in header)) return;
		this.#waiting.get(header.id)?.resolve({ header, bytes });
		this.#waiting.delete(header.id);
	}

	#onClose(): void {
		this.#connection = null;
		this.#dropAll();
		if (!this.#isClosed && this.#events.onDrop()) void this.#reconnect();
	}

	#dropAll(): void {
		const lost = [...this.#waiting.values()];
		this.#waiting.clear();
		for (const { reject } of lost)
			reject(new ConnectionLost("the connection to the holder dropped"));
	}

	async #reconnect(): Promise<void> {
		for (let pauseMs = 50; !this.#isClosed; pauseMs = Math.min(pauseMs * 2, RECONNECT_MS_MAX)) {
			try {
				await this.#connect();
				await this.#events.onReconnect();
				return;
			} catch {
				await sleep(pauseMs, undefined, { ref: false });
			}
		}
	}
}
