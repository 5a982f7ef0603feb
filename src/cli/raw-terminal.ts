/**
 * The user's terminal while it is attached to an agent: in raw mode, on the alternate screen, and
 * restored on every kind of end: a return, an exception, an exit, a signal.
 */

import type { ReadStream, WriteStream } from "node:tty";
import { ReeveError } from "../core/errors.js";

/** The title is saved and restored by the terminal itself. */
const ENTER = "\u001b[22;0t\u001b[?1049h\u001b[H\u001b[2J";
/**
 * Modes that programs enable and may not live to disable: mouse, focus and paste reports, keys as sequences, scroll
 * region, line drawing, hidden cursor, synchronized output. Then the user's own screen.
 */
const LEAVE = [
	"\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1004l\u001b[?1005l\u001b[?1006l\u001b[?1015l",
	"\u001b[?2004l\u001b[?2026l\u001b[<u\u001b[>4;0m\u001b[?1l\u001b>\u001b[?6l\u001b[?7h\u001b[r",
	"\u001b(B\u000f\u001b[0m\u001b[0 q\u001b[?25h\u001b[?1049l\u001b[23;0t",
].join("");

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGQUIT: 131 } as const;

export interface RawTerminal {
	size(): { readonly columns: number; readonly rows: number };
	/** A line at the bottom, over the agent's screen. */
	notice(text: string): void;
	/** The title of the window, until the agent sets one or the terminal is restored. */
	title(text: string): void;
	restore(): void;
}

export interface TerminalStreams {
	readonly stdin: ReadStream;
	readonly stdout: WriteStream;
}

export function checkTerminal(
	stdin: ReadStream,
	stdout: WriteStream,
	{ command, instead }: { readonly command: string; readonly instead: string },
): TerminalStreams {
	if (stdin.isTTY && stdout.isTTY) return { stdin, stdout };
	throw new ReeveError("usage", `${command} needs a terminal`, instead);
}

export function sizeOf(stdout: WriteStream): { readonly columns: number; readonly rows: number } {
	// A terminal without a known size reports 0.
	return { columns: stdout.columns || 80, rows: stdout.rows || 24 };
}

/**
 * `greet` prints on the user's own screen after input is enabled, so that the user can type
 * immediately.
 */
export function enterRawTerminal(
	{ stdin, stdout }: TerminalStreams,
	greet: () => void,
): RawTerminal {
	let entered = true;
	const restore = () => {
		if (!entered) return;
		entered = false;
		stdout.write(LEAVE);
		stdin.setRawMode(false);
		stdin.pause();
		process.removeListener("exit", restore);
		for (const [signal, listener] of listeners) process.removeListener(signal, listener);
	};
	const listeners = Object.entries(SIGNALS).map(([signal, code]) => {
		const listener = () => {
			restore();
			process.exit(code);
		};
		process.on(signal, listener);
		return [signal, listener] as const;
	});
	// Also covers uncaught exceptions.
	process.on("exit", restore);
	stdin.setRawMode(true);
	greet();
	stdout.write(ENTER);
	return {
		size: () => sizeOf(stdout),
		notice(text) {
			const { columns, rows } = sizeOf(stdout);
			const line = ` ${text} `.slice(0, columns);
			const drawn = `\u001b[${rows};1H\u001b(B\u000f\u001b[0;7m${line}\u001b[0m\u001b[K`;
			// Cursor, colours and character set belong to the agent and are restored.
			stdout.write(`\u001b7${drawn}\u001b8`);
		},
		title: (text) => void stdout.write(`\u001b]2;${text}\u0007`),
		restore,
	};
}
