/**
 * A terminal emulator without a window: parses the output of a program and maintains its screen. It also generates the
 * responses to queries of the program (terminal type, cursor position). Loaded when the first screen is needed.
 */

import type { SerializeAddon } from "@xterm/addon-serialize";
import type { Terminal } from "@xterm/headless";
import type { StyledScreen, TerminalSize } from "../../../ports/backend.js";
import { renderStyled } from "./styled-rows.js";
import { renderSupplement } from "./supplement.js";
import { createSequenceTracker } from "./unfinished-sequence.js";

const SCROLLBACK_LINES = 1_000;

export interface Snapshot {
	/** Draws the screen, its history, its modes and its cursor on an empty terminal. */
	readonly bytes: Buffer;
	/** False if a part of the terminal's state could not be rendered. */
	readonly isComplete: boolean;
}

export interface Emulator {
	readonly size: TerminalSize;
	/** `done` is called when the bytes are on the screen. */
	write(bytes: Uint8Array, done: () => void): void;
	/** Calls back after everything written before is on the screen, and before anything written later. */
	settle(then: () => void): void;
	/** Call it from `settle`. */
	snapshot(): Snapshot;
	/** The visible part as text. Call it from `settle`. */
	text(): string;
	/** The visible part with its styles. Call it from `settle`. */
	styled(): Omit<StyledScreen, "complete">;
	resize(size: TerminalSize): void;
	close(): void;
}

type Loaded = {
	readonly Terminal: typeof Terminal;
	readonly SerializeAddon: typeof SerializeAddon;
};

let loading: Promise<Loaded> | undefined;

async function load(): Promise<Loaded> {
	const [headless, serialize] = await Promise.all([
		import("@xterm/headless"),
		import("@xterm/addon-serialize"),
	]);
	return {
		Terminal: headless.default.Terminal,
		SerializeAddon: serialize.default.SerializeAddon,
	};
}

export async function createEmulator(
	size: TerminalSize,
	onAnswer: (bytes: Buffer) => void,
): Promise<Emulator> {
	loading ??= load();
	const { Terminal, SerializeAddon } = await loading;
	const terminal = new Terminal({
		cols: size.columns,
		rows: size.rows,
		scrollback: SCROLLBACK_LINES,
		allowProposedApi: true,
		logLevel: "off",
	});
	const serializer = new SerializeAddon();
	terminal.loadAddon(serializer);
	terminal.onData((answer) => onAnswer(Buffer.from(answer)));
	terminal.onBinary((answer) => onAnswer(Buffer.from(answer, "latin1")));
	let title = "";
	terminal.onTitleChange((changed) => {
		title = changed;
	});
	const tracker = createSequenceTracker();
	return {
		get size() {
			return { columns: terminal.cols, rows: terminal.rows };
		},
		write: (bytes, done) =>
			terminal.write(bytes, () => {
				tracker.push(bytes);
				done();
			}),
		settle: (then) => terminal.write("", then),
		snapshot() {
			const drawn = serializer.serialize({ scrollback: SCROLLBACK_LINES });
			const supplement = renderSupplement(terminal);
			const unfinished = tracker.unfinished();
			return {
				// An incomplete sequence, so that the following output completes it.
				bytes: Buffer.concat([
					Buffer.from(drawn + (supplement ?? "")),
					unfinished ?? Buffer.alloc(0),
				]),
				isComplete: supplement !== null && unfinished !== null,
			};
		},
		text() {
			const { active } = terminal.buffer;
			const lines = Array.from(
				{ length: terminal.rows },
				(_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
			);
			return lines.join("\n").trimEnd();
		},
		styled: () => renderStyled(terminal, title),
		resize: ({ columns, rows }) => terminal.resize(columns, rows),
		close: () => terminal.dispose(),
	};
}
