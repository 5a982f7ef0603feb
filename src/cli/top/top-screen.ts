/** The terminal while `reeve top` has it: raw input, and pictures that are drawn at a limited rate. */

import {
	enterRawTerminal,
	type RawTerminal,
	sizeOf,
	type TerminalStreams,
} from "../raw-terminal.js";
import { createFrame, type Frame, type Line, renderChanges } from "./frame.js";

/** Hidden cursor; pasted text is marked, so that it is never treated as keys. */
const SHOW = "\u001b[?25l\u001b[?2004h";
/** At most four times a second for news. */
export const DRAW_EVERY_MS = 250;

export interface Picture {
	readonly draw: (size: ReturnType<typeof sizeOf>) => readonly Line[];
	readonly onInput: (bytes: Buffer) => void;
	readonly onEnd: () => void;
}

export class TopScreen {
	readonly #streams: TerminalStreams;
	readonly #picture: Picture;
	#state: "new" | "begun" | "closed" = "new";
	#terminal: RawTerminal | null = null;
	#drawn: Frame | null = null;
	#drawnAtMs = 0;
	#timer: NodeJS.Timeout | undefined;

	constructor(streams: TerminalStreams, picture: Picture) {
		this.#streams = streams;
		this.#picture = picture;
	}

	get columns(): number {
		return sizeOf(this.#streams.stdout).columns;
	}

	/** Opens the screen. Later calls do nothing. */
	begin(): void {
		if (this.#state !== "new") return;
		this.#state = "begun";
		this.#streams.stdout.on("resize", this.#onResize);
		process.on("SIGCONT", this.#onContinue);
		this.enter();
	}

	/** Takes the terminal again after `leave`. */
	enter(): void {
		if (this.#state !== "begun" || this.#terminal !== null) return;
		const { stdin, stdout } = this.#streams;
		this.#terminal = enterRawTerminal(this.#streams, () => {});
		stdout.write(SHOW);
		stdin.on("data", this.#picture.onInput);
		stdin.once("end", this.#picture.onEnd);
		stdin.resume();
		this.redraw();
	}

	/** Leaves the terminal to another program, as it was before. */
	leave(): void {
		const { stdin } = this.#streams;
		stdin.removeListener("data", this.#picture.onInput);
		stdin.removeListener("end", this.#picture.onEnd);
		this.#terminal?.restore();
		this.#terminal = null;
	}

	/** Stops like any other program at Ctrl-Z; `fg` continues it. */
	suspend(): void {
		this.leave();
		process.once("SIGCONT", () => this.enter());
		process.kill(process.pid, "SIGSTOP");
	}

	close(): void {
		this.#state = "closed";
		clearTimeout(this.#timer);
		this.#streams.stdout.removeListener("resize", this.#onResize);
		process.removeListener("SIGCONT", this.#onContinue);
		this.leave();
	}

	/** Draws everything again. */
	redraw(): void {
		this.#drawn = null;
		this.draw(0);
	}

	/** Draws what has changed, this long after the last time at the earliest. */
	draw(everyMs = DRAW_EVERY_MS): void {
		if (this.#timer !== undefined) {
			if (everyMs >= DRAW_EVERY_MS) return;
			clearTimeout(this.#timer);
		}
		const leftMs = this.#drawnAtMs + everyMs - performance.now();
		this.#timer = setTimeout(() => this.#drawNow(), Math.max(0, leftMs));
	}

	readonly #onResize = () => this.draw(0);

	/** The shell had the terminal meanwhile. */
	readonly #onContinue = () => {
		if (this.#terminal === null) return;
		this.leave();
		this.enter();
	};

	#drawNow() {
		this.#timer = undefined;
		const { stdout } = this.#streams;
		if (this.#terminal === null) return;
		// A slow terminal gets the newest picture once it has read the last one.
		if (stdout.writableNeedDrain) {
			stdout.once("drain", () => this.draw());
			return;
		}
		this.#drawnAtMs = performance.now();
		const size = sizeOf(stdout);
		const frame = createFrame(this.#picture.draw(size), size.columns, size.rows);
		const changes = renderChanges(this.#drawn, frame);
		this.#drawn = frame;
		if (changes !== "") stdout.write(changes);
	}
}
