/**
 * Makes text from an agent safe for a terminal, a log or a notification (A10). Text, newlines and tabs are kept.
 * Sequences that move the cursor, set colours or titles, use the clipboard or make the terminal respond are removed,
 * and so are invisible characters that make a line misleading. Sequences and characters may be split over chunks
 * anywhere; invalid UTF-8 becomes U+FFFD. The state between chunks is bounded (A6): an endless sequence is abandoned.
 */

/** A longer sequence is treated as text. */
const CONTROL_LENGTH_MAX = 256;
const STRING_LENGTH_MAX = 65_536;
/** Programs move the cursor forward instead of writing spaces, at most by the width of a screen. */
const SKIP_MAX = 500;

const ESC = 0x1b;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

type State =
	| "text"
	/** After ESC. */
	| "escape"
	/** After ESC and the byte that selects the type of sequence. */
	| "escape_more"
	| "control"
	/** A title, a link, a clipboard: ends with BEL or ST, and never spans lines. */
	| "command"
	/** A picture or another long string: ends with ST. */
	| "string";

const AFTER_ESCAPE: Readonly<Record<string, State>> = {
	"[": "control",
	"]": "command",
	P: "string",
	X: "string",
	"^": "string",
	_: "string",
};
/** The same openers as single C1 characters. */
const C1_OPENERS: Readonly<Record<number, State>> = {
	155: "control",
	157: "command",
	144: "string",
	152: "string",
	158: "string",
	159: "string",
};

export interface Sanitizer {
	write(bytes: Uint8Array): string;
	/** The rest after the last chunk. */
	end(): string;
}

export function createSanitizer(): Sanitizer {
	const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	const filter = createFilter();
	return {
		write: (bytes) => filter(decoder.decode(bytes, { stream: true })),
		end: () => filter(decoder.decode()),
	};
}

/** A complete text; newlines are kept. */
export function safeText(text: string): string {
	return UNUSUAL.test(text) ? createFilter()(text) : text;
}

/**
 * A complete text of a program that paints a screen: text separated by cursor movements stays
 * separated, where `safeText` would join it.
 */
export function screenText(text: string): string {
	return UNUSUAL.test(text) ? createFilter(" ")(text) : text;
}

/** A value as JSON that is safe to print: the same value, with every such character escaped. */
export function safeJson(value: unknown, indent?: number): string {
	const text = JSON.stringify(value, null, indent);
	return UNUSUAL.test(text) ? text.replace(UNSAFE, escapeUnits) : text;
}

/** Anything but printable ASCII, tabs and newlines. */
const UNUSUAL = /[^\x20-\x7e\t\n]/;

/** For JSON, which already escapes the other control characters. */
const UNSAFE =
	/[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g;

function escapeUnits(characters: string): string {
	return characters
		.split("")
		.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
		.join("");
}

/** A complete text as one line, for a table or a message. */
export function plainLine(text: string): string {
	// Fast path: most texts contain only printable ASCII.
	if (!/[^\x20-\x7e]/.test(text)) return text;
	return createFilter()(text).replace(/\s+/g, " ").trim();
}

/** `gap` replaces every sequence except colours. */
function createFilter(gap: "" | " " = ""): (text: string) => string {
	let state: State = "text";
	let parameters = "";
	let length = 0;
	/** A carriage return was seen: with a newline it ends the line, alone it restarts the line. */
	let returned = false;

	function open(next: State): "" {
		state = next;
		parameters = "";
		length = 0;
		return "";
	}

	function close(): string {
		open("text");
		return gap === "" ? "" : plain(0x20, gap);
	}

	function plain(code: number, letter: string): string {
		if (code === RETURN) {
			returned = true;
			return "";
		}
		const before = returned && code !== NEWLINE ? "\n" : "";
		returned = false;
		return before + letter;
	}

	/** Control characters take effect immediately, even inside a sequence. */
	function control(code: number, letter: string): string {
		if (code === ESC) return open("escape");
		if (code === CAN || code === SUB) return open("text");
		if (code === TAB || code === NEWLINE || code === RETURN) return plain(code, letter);
		const opened = C1_OPENERS[code];
		return opened === undefined ? "" : open(opened);
	}

	function inEscape(code: number, letter: string): string {
		const opened = state === "escape" ? AFTER_ESCAPE[letter] : undefined;
		if (opened !== undefined) return open(opened);
		if (code > 0x7e) return open("text") + plain(code, letter);
		if (code > 0x2f || ++length > CONTROL_LENGTH_MAX) return close();
		state = "escape_more";
		return "";
	}

	function inControl(code: number, letter: string): string {
		if (code > 0x7e) return open("text") + plain(code, letter);
		if (code >= 0x40) {
			const skipped = letter === "C" && /^\d*$/.test(parameters) ? Number(parameters || 1) : 0;
			if (skipped === 0) return letter === "m" ? open("text") : close();
			open("text");
			return plain(0x20, " ".repeat(Math.min(skipped, SKIP_MAX)));
		}
		parameters += letter;
		return ++length > CONTROL_LENGTH_MAX ? open("text") : "";
	}

	function inString(code: number): string {
		const ends =
			code === 0x9c ||
			code === CAN ||
			code === SUB ||
			(state === "command" && (code === BEL || code === NEWLINE));
		if (ends) return close() + (code === NEWLINE ? plain(code, "\n") : "");
		// ESC ends it too: followed by a backslash it is the terminator, otherwise it starts another sequence.
		if (code === ESC) return open("escape");
		return ++length > STRING_LENGTH_MAX ? open("text") : "";
	}

	return (text) => {
		let out = "";
		for (const letter of text) {
			const code = letter.codePointAt(0) ?? 0;
			if (state === "command" || state === "string") out += inString(code);
			else if (isControl(code)) out += control(code, letter);
			else if (deceives(code)) continue;
			else if (state === "text") out += plain(code, letter);
			else if (state === "control") out += inControl(code, letter);
			else out += inEscape(code, letter);
		}
		return out;
	};
}

function isControl(code: number): boolean {
	return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/**
 * Characters that change the writing direction, and invisible ones that hide text or make two names
 * look alike. Joiners (U+200C, U+200D) are kept: scripts and emoji need them.
 */
function deceives(code: number): boolean {
	return (
		(code >= 0x2028 && code <= 0x202e) ||
		(code >= 0x2060 && code <= 0x2069) ||
		(code >= 0xe0000 && code <= 0xe007f) ||
		DECEIVING.has(code)
	);
}

const DECEIVING: ReadonlySet<number> = new Set([0x061c, 0x200b, 0x200e, 0x200f, 0xfeff]);
