/**
 * The screen of a run while a client looks at it: an emulator that is fed from the log, then by the
 * shim. It lives while there are viewers, a client reads its text, or the program queries its terminal.
 *
 * The shim never waits for it. A screen that falls behind reads the missed output from the log, or
 * skips it and is marked as incomplete (A6).
 */

import { readLogBytes, readLogTable } from "../../../home/log-bytes.js";
import type {
	ScreenText,
	ScreenWatch,
	ScreenWatcher,
	StyledScreen,
	TerminalSize,
	TerminalViewer,
} from "../../../ports/backend.js";
import type { Connection } from "../connection.js";
import type { Frame } from "../frames.js";
import {
	BEHIND,
	EXIT,
	FOLLOW,
	type Following,
	OUTPUT,
	REDRAWN,
	RESIZED,
	readFollowing,
	readOutput,
	readResized,
	STATUS,
} from "../shim-messages.js";
import { createEmulator, type Emulator } from "./emulator.js";
import { chooseReplay, cutSegments } from "./replay.js";

export interface ScreenSource {
	readonly logDir: string;
	/** The size if the shim reports none. */
	readonly size: TerminalSize;
	/** A connection for this screen only. */
	open(): Promise<Connection>;
	/** Types the emulator's response to a query of the program. */
	answer(bytes: Buffer): void;
	/** The screen is no longer needed, or its run has ended. */
	onClose(): void;
}

const IDLE_MS_MAX = 30_000;
/** How much may be queued for the emulator before the shim is no longer read. */
const UNPARSED_BYTES_MAX = 512 * 1024;
/** Beyond this, missed output is skipped. */
const MISSED_BYTES_MAX = 1024 * 1024;
const TAIL_BYTES = 256 * 1024;
const BLOCK_BYTES = 1024 * 1024;
const EMPTY = Buffer.alloc(0);
const RESET = Buffer.from("\u001bc");

export class LiveScreen {
	readonly #source: ScreenSource;
	readonly #idleMsMax: number;
	readonly #viewers = new Set<Watcher>();
	/** Readers without a terminal of their own, so the emulator still answers queries. */
	readonly #watchers = new Set<ScreenWatcher>();
	/** The last styled screen, shared by all watchers until it changes. */
	#styled: StyledScreen | null = null;
	readonly #ready: Promise<void>;
	/** Frames that arrived during a replay. */
	#early: Frame[] | null = [];
	#emulator: Emulator | null = null;
	#connection: Connection | null = null;
	/** Absolute offset of the next byte. */
	#offset = 0;
	#unparsedBytes = 0;
	#isPaused = false;
	/** Queries before this offset were already answered. */
	readonly #answersFrom: number | null;
	#isAnswering = false;
	#isComplete = true;
	/** Lost output of the program, as far as reported. */
	#lostBytes = 0;
	/** False while the screen lacks output that was lost and not drawn again. */
	#isCurrent = true;
	#idle: NodeJS.Timeout | undefined;
	#isClosed = false;

	/** `answersFrom`: the offset of a query that no terminal has answered yet. */
	constructor(
		source: ScreenSource,
		answersFrom: number | null,
		{ idleMsMax = IDLE_MS_MAX }: { readonly idleMsMax?: number } = {},
	) {
		this.#source = source;
		this.#answersFrom = answersFrom;
		this.#idleMsMax = idleMsMax;
		this.#ready = this.#begin().catch((error: unknown) => {
			this.close("its screen cannot be read");
			throw error;
		});
		this.#ready.catch(() => {});
		this.#touch();
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** Resolves when the screen shows all output so far. */
	get prepared(): Promise<void> {
		return this.#ready;
	}

	text(): Promise<ScreenText> {
		this.#touch();
		return this.#read((emulator) => ({ text: emulator.text(), isIncomplete: !this.#isCurrent }));
	}

	async #read<T>(render: (emulator: Emulator) => T): Promise<T> {
		await this.#ready;
		// The shim answers after all output that it has read by now. A screen whose run is over shows its last output.
		await this.#connection?.ask(STATUS, EMPTY).catch(() => {});
		const emulator = this.#emulator;
		if (emulator === null) throw new Error("the screen is closed");
		return new Promise((resolve) => emulator.settle(() => resolve(render(emulator))));
	}

	async watch(watcher: ScreenWatcher): Promise<ScreenWatch> {
		await this.#ready;
		if (this.#emulator === null) throw new Error("the screen is closed");
		this.#watchers.add(watcher);
		this.#touch();
		return {
			read: () =>
				this.#read((emulator) => {
					this.#styled ??= { ...emulator.styled(), complete: this.#isComplete && this.#isCurrent };
					return this.#styled;
				}),
			close: () => {
				this.#watchers.delete(watcher);
				this.#touch();
			},
		};
	}

	#changed(): void {
		this.#styled = null;
		for (const watcher of this.#watchers) watcher.onChange();
	}

	/** The returned function ends the viewing. */
	async attach(viewer: TerminalViewer): Promise<() => void> {
		await this.#ready;
		const emulator = this.#emulator;
		if (emulator === null) throw new Error("the terminal is closed");
		const watcher = createWatcher(viewer, emulator, () => this.#isComplete);
		this.#viewers.add(watcher);
		this.#touch();
		return () => {
			watcher.leave();
			this.#viewers.delete(watcher);
			this.#touch();
		};
	}

	/** In order with the output. */
	resize(size: TerminalSize): void {
		this.#onResized(size);
	}

	close(reason: string): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		clearTimeout(this.#idle);
		this.#connection?.close();
		for (const watcher of this.#viewers) watcher.end(reason);
		for (const watcher of this.#watchers) watcher.onClose(reason);
		this.#viewers.clear();
		this.#watchers.clear();
		this.#emulator?.close();
		this.#emulator = null;
		this.#source.onClose();
	}

	#touch(): void {
		clearTimeout(this.#idle);
		if (this.#isClosed || this.#viewers.size > 0 || this.#watchers.size > 0) return;
		this.#idle = setTimeout(() => this.close("it has no viewer"), this.#idleMsMax).unref();
	}

	async #begin(): Promise<void> {
		const connection = await this.#source.open();
		if (this.#isClosed) return connection.close();
		this.#connection = connection;
		connection.listen({
			onFrame: (frame) =>
				this.#early === null ? this.#onFrame(frame) : void this.#early.push(frame),
			onClose: () => this.#finish("the connection to the terminal was lost"),
		});
		const following = await this.#follow(connection);
		connection.pause();
		await this.#replay(following);
		const early = this.#early ?? [];
		this.#early = null;
		for (const frame of early) this.#onFrame(frame);
		connection.resume();
	}

	async #follow(connection: Connection): Promise<Following> {
		const { payload } = await connection.ask(FOLLOW, EMPTY);
		return readFollowing(payload);
	}

	async #replay(following: Following): Promise<void> {
		const { logDir, size } = this.#source;
		const table = await readLogTable(logDir);
		const { from, modes, isWhole } = chooseReplay(following, table);
		this.#isComplete = isWhole;
		this.#noteLost(following);
		const segments = cutSegments(following, from, size, this.#answersFrom);
		const first = segments[0]?.size ?? following.sizes.at(-1)?.size ?? size;
		const emulator = await createEmulator(first, (answer) => this.#answer(answer));
		if (this.#isClosed) return emulator.close();
		this.#emulator = emulator;
		await written(emulator, modes);
		for (const segment of segments) {
			this.#isAnswering = this.#answersFrom !== null && segment.from >= this.#answersFrom;
			emulator.resize(segment.size);
			for (let at = segment.from; at < segment.to; at += BLOCK_BYTES) {
				const to = Math.min(segment.to, at + BLOCK_BYTES);
				await written(emulator, await readLogBytes(logDir, at, to));
				if (this.#isClosed) return;
			}
		}
		emulator.resize(following.sizes.at(-1)?.size ?? size);
		this.#isAnswering = true;
		this.#offset = following.offset;
	}

	#onFrame({ type, payload }: Frame): void {
		if (type === OUTPUT) this.#onOutput(readOutput(payload));
		else if (type === BEHIND) void this.#catchUp().catch(() => this.#finish("it was lost"));
		else if (type === RESIZED) this.#onResized(readResized(payload));
		else if (type === REDRAWN) this.#redrawn();
		else if (type === EXIT) this.#finish("the agent has exited");
	}

	#redrawn(): void {
		this.#isCurrent = true;
		this.#changed();
	}

	#noteLost({ lost }: Following): void {
		this.#lostBytes = lost?.bytes ?? 0;
		this.#isCurrent = lost?.isRedrawn ?? true;
	}

	#onOutput({ offset, bytes }: ReturnType<typeof readOutput>): void {
		this.#offset = offset + bytes.length;
		// The frame's memory is shared with other data of the same chunk.
		this.#feed(Buffer.from(bytes));
		for (const watcher of this.#viewers) watcher.onOutput(bytes);
	}

	/** Every viewer must draw the new size. */
	#onResized(size: TerminalSize): void {
		this.#emulator?.settle(() => {
			const before = this.#emulator?.size;
			if (before?.columns === size.columns && before.rows === size.rows) return;
			this.#emulator?.resize(size);
			this.#changed();
			for (const watcher of this.#viewers) watcher.refresh();
		});
	}

	#feed(bytes: Buffer): void {
		this.#unparsedBytes += bytes.length;
		this.#emulator?.write(bytes, () => {
			this.#unparsedBytes -= bytes.length;
			this.#changed();
			if (this.#isPaused && this.#unparsedBytes < UNPARSED_BYTES_MAX / 4) {
				this.#isPaused = false;
				this.#connection?.resume();
			}
		});
		if (this.#isPaused || this.#unparsedBytes <= UNPARSED_BYTES_MAX) return;
		this.#isPaused = true;
		this.#connection?.pause();
	}

	/** The shim has skipped output. */
	async #catchUp(): Promise<void> {
		const connection = this.#connection;
		if (connection === null || this.#isClosed) return;
		this.#early = [];
		const following = await this.#follow(connection);
		const { offset, lost } = following;
		// Output was lost since the last time, possibly the skipped one: the screen starts over after it.
		const isLost = lost !== null && lost.bytes !== this.#lostBytes;
		const isTooMuch = offset - this.#offset > MISSED_BYTES_MAX;
		const missedFrom = isTooMuch ? offset - TAIL_BYTES : this.#offset;
		const from = isLost ? lost.wholeFrom : missedFrom;
		const missed = await readLogBytes(this.#source.logDir, from, offset);
		if (this.#isClosed) return;
		if (isLost || isTooMuch || missed.length < offset - from) this.#isComplete = false;
		if (isLost) {
			this.#noteLost(following);
			this.#feed(Buffer.concat([RESET, lost.modes]));
		}
		this.#offset = offset;
		this.#feed(missed);
		for (const watcher of this.#viewers) watcher.refresh();
		const early = this.#early ?? [];
		this.#early = null;
		for (const frame of early) this.#onFrame(frame);
	}

	/** Viewers see the last output before they are notified. */
	#finish(reason: string): void {
		if (this.#isClosed) return;
		if (this.#emulator === null) this.close(reason);
		else this.#emulator.settle(() => this.close(reason));
	}

	#answer(bytes: Buffer): void {
		const isAnswered = [...this.#viewers].some((watcher) => watcher.answers());
		if (this.#isAnswering && !isAnswered) this.#source.answer(bytes);
	}
}

const written = (emulator: Emulator, bytes: Buffer) =>
	new Promise<void>((resolve) => emulator.write(bytes, resolve));

/** A viewer, and its state: waiting for the screen, or following. */
interface Watcher {
	answers(): boolean;
	onOutput(bytes: Buffer): void;
	/** The complete screen, because output was skipped. */
	refresh(): void;
	leave(): void;
	end(reason: string): void;
}

function createWatcher(
	viewer: TerminalViewer,
	emulator: Emulator,
	isComplete: () => boolean,
): Watcher {
	let isWaiting = false;
	let meanwhile: Buffer[] = [];
	let isOver = false;
	const watcher: Watcher = {
		answers: () => viewer.answers?.() === true,
		onOutput(bytes) {
			if (isOver) return;
			if (isWaiting) meanwhile.push(Buffer.from(bytes));
			else viewer.onOutput(bytes);
		},
		refresh() {
			if (isWaiting || isOver) return;
			isWaiting = true;
			emulator.settle(() => {
				if (isOver) return;
				const { bytes, isComplete: isRendered } = emulator.snapshot();
				viewer.onSnapshot(bytes, emulator.size, !(isRendered && isComplete()));
				isWaiting = false;
				const late = meanwhile;
				meanwhile = [];
				for (const each of late) watcher.onOutput(each);
			});
		},
		leave() {
			isOver = true;
		},
		end(reason) {
			if (isOver) return;
			isOver = true;
			viewer.onClose(reason);
		},
	};
	watcher.refresh();
	return watcher;
}
