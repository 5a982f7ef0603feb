/**
 * The screen of a terminal as it is now, with a bounded history, kept while nobody watches. While
 * nobody does, it also answers what programs ask of a terminal (its kind, where the cursor is); a
 * viewer's terminal answers for itself.
 */

import serialize from "@xterm/addon-serialize";
import xterm from "@xterm/headless";
import type { TerminalSize } from "../../../ports/backend.js";

const SCROLLBACK_LINES = 1_000;

export interface Screen {
	readonly size: TerminalSize;
	/** `done` is called when the bytes are on the screen. */
	write(bytes: Uint8Array, done: () => void): void;
	/** Calls back when all that was written before is on the screen, and before anything written later. */
	settle(then: () => void): void;
	/** Bytes that draw the screen, its history, its modes and its cursor. Call it from `settle`. */
	snapshot(): Buffer;
	/** The visible part as text. Call it from `settle`. */
	text(): string;
	resize(size: TerminalSize): void;
	close(): void;
}

export function createScreen(size: TerminalSize, onAnswer: (bytes: Buffer) => void): Screen {
	const terminal = new xterm.Terminal({
		cols: size.columns,
		rows: size.rows,
		scrollback: SCROLLBACK_LINES,
		allowProposedApi: true,
		logLevel: "off",
	});
	const serializer = new serialize.SerializeAddon();
	terminal.loadAddon(serializer);
	terminal.onData((answer) => onAnswer(Buffer.from(answer)));
	terminal.onBinary((answer) => onAnswer(Buffer.from(answer, "latin1")));

	return {
		get size() {
			return { columns: terminal.cols, rows: terminal.rows };
		},
		write: (bytes, done) => terminal.write(bytes, done),
		settle: (then) => terminal.write("", then),
		snapshot: () => Buffer.from(serializer.serialize({ scrollback: SCROLLBACK_LINES })),
		text() {
			const { active } = terminal.buffer;
			const lines = Array.from(
				{ length: terminal.rows },
				(_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
			);
			return lines.join("\n").trimEnd();
		},
		resize: ({ columns, rows }) => terminal.resize(columns, rows),
		close: () => terminal.dispose(),
	};
}
