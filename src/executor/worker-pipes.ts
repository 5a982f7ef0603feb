/** A worker's pipes: splits its stdout into lines, and detects pipes that close while it runs. */

import type { Buffer } from "node:buffer";
import { renderSize } from "../core/units.js";
import { isInTime } from "./deadline.js";
import { createLineReader } from "./line-reader.js";
import type { RunningProgram } from "./program.js";

interface PipeEvents {
	onLine(line: Buffer): void;
	/** It cannot accept requests any more. */
	onTrouble(reason: string): void;
	isClosingExpected(): boolean;
}

/** How long an exit may take once its pipes are closed. */
const CLOSING_MS = 2_000;

export function watchPipes(
	program: RunningProgram,
	lineBytesMax: number,
	{ onLine, onTrouble, isClosingExpected }: PipeEvents,
): void {
	const { stdin, stdout, exited } = program;
	const reader = createLineReader(lineBytesMax, onLine);
	stdout.on("data", (chunk: Buffer) => {
		if (reader.take(chunk)) return;
		// Nothing reads from now on: a writing process gets an error, or blocks until it is killed.
		stdout.destroy();
		onTrouble(`printed a response larger than ${renderSize(lineBytesMax)}`);
	});
	stdout.once("end", () => {
		const rest = reader.rest();
		if (rest.length > 0) onLine(rest);
	});

	/** A normal exit closes its pipes a moment before it is reported. */
	async function judgeClosing(reason: string): Promise<void> {
		if (isClosingExpected() || (await isInTime(exited, CLOSING_MS))) return;
		onTrouble(reason);
	}
	stdout.once("close", () => void judgeClosing("closed its stdout"));
	stdin.once("error", () => void judgeClosing("closed its stdin"));
}
