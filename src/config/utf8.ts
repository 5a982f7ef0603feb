/** Decodes bytes, without ever replacing invalid UTF-8. */

export type DecodedText =
	| { readonly ok: true; readonly text: string }
	/** The line, counted from 1, with the first invalid byte. */
	| { readonly ok: false; readonly line: number };

const BYTE_ORDER_MARK = "\uFEFF";
const LINE_FEED = 0x0a;

export function decodeUtf8(bytes: Uint8Array): DecodedText {
	const text = decode(bytes);
	if (text !== null) {
		return { ok: true, text: text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text };
	}
	// A line feed is never part of another character, so lines can be checked one by one.
	let line = 1;
	let start = 0;
	for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
		if (decode(bytes.subarray(start, end)) === null) break;
		line++;
		start = end + 1;
	}
	return { ok: false, line };
}

function decode(bytes: Uint8Array): string | null {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		return null;
	}
}
