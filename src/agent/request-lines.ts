/** The lines of stdin, one at a time, so that a busy agent can leave the next ones in the pipe. */

import { addAbortSignal, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Far beyond any sensible request (A6). */
const LINE_LENGTH_MAX = 64 * 1024 * 1024;

/** Ends with the input, or when aborted. */
export async function* readLines(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
	try {
		yield* splitLines(addAbortSignal(signal, input));
	} catch (error) {
		if (!signal.aborted) throw error;
	}
}

async function* splitLines(input: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
	const decoder = new StringDecoder("utf8");
	let parts: string[] = [];
	let partsLength = 0;
	for await (const chunk of input) {
		const [first = "", ...more] = decoder.write(Buffer.from(chunk)).split("\n");
		parts.push(first);
		partsLength += first.length;
		if (partsLength > LINE_LENGTH_MAX) throw new Error("the request is too long");
		for (const next of more) {
			yield parts.join("");
			parts = [next];
			partsLength = next.length;
		}
	}
	yield parts.join("") + decoder.end();
}
