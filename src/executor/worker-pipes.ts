/** A worker's pipes: splits its stdout into lines, and detects pipes that close while it runs. */

import { Buffer } from "node:buffer";
import { renderSize } from "../core/units.js";
import { isInTime } from "./deadline.js";
import type { RunningProgram } from "./program.js";

interface PipeEvents {
	onLine(line: Buffer): void;
	/** It can no longer accept requests. */
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
	async function classifyClosing(reason: string): Promise<void> {
		if (isClosingExpected() || (await isInTime(exited, CLOSING_MS))) return;
		onTrouble(reason);
	}
	stdout.once("close", () => void classifyClosing("closed its stdout"));
	stdin.once("error", () => void classifyClosing("closed its stdin"));
}

const NEWLINE = 0x0a;

interface LineReader {
	/** False if a line is too long; the reader must not be used after that. */
	take(chunk: Buffer): boolean;
	/** The bytes after the last newline. */
	rest(): Buffer;
}

export function createLineReader(bytesMax: number, onLine: (line: Buffer) => void): LineReader {
	let parts: Buffer[] = [];
	let partBytes = 0;

	function takeParts(last: Buffer): Buffer {
		const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
		parts = [];
		partBytes = 0;
		return line;
	}

	return {
		take(chunk) {
			let from = 0;
			for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
				if (partBytes + end - from > bytesMax) return false;
				onLine(takeParts(chunk.subarray(from, end)));
				from = end + 1;
			}
			if (from < chunk.length) {
				parts.push(chunk.subarray(from));
				partBytes += chunk.length - from;
			}
			return partBytes <= bytesMax;
		},
		rest: () => takeParts(Buffer.alloc(0)),
	};
}
