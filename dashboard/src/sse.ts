/**
 * Server-sent events over fetch: unlike EventSource it reports why a connection failed, and can be tested for silence.
 */

import { ApiError, send } from "./api.js";
import { createParser, type SseMessage } from "./sse-parser.js";

export interface SseOptions {
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal: AbortSignal;
	/** The connection is closed if nothing arrives for this time, not even a comment. */
	readonly silentMsMax?: number;
	readonly onOpen?: (response: Response) => void;
	/** Called for each block; the data is empty for one that only carries an id. */
	readonly onMessage: (message: SseMessage) => void;
}

/** Resolves when the server ends the stream; rejects if it cannot be opened, breaks, or falls silent. */
export async function readSse(url: string, options: SseOptions): Promise<void> {
	const { headers = {}, signal, silentMsMax, onOpen, onMessage } = options;
	const silence = new AbortController();
	const response = await send(url, {
		headers: { accept: "text/event-stream", ...headers },
		signal: AbortSignal.any([signal, silence.signal]),
	});
	onOpen?.(response);
	const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
	if (reader === undefined) return;
	const parser = createParser(onMessage);
	let timer = 0;
	const listen = () => {
		clearTimeout(timer);
		if (silentMsMax !== undefined) timer = setTimeout(() => silence.abort(), silentMsMax);
	};
	try {
		listen();
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return;
			listen();
			parser(value);
		}
	} catch (error) {
		if (signal.aborted) throw error;
		throw new ApiError("connection_lost", "the connection was lost", "", 0);
	} finally {
		clearTimeout(timer);
	}
}
