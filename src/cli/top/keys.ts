/** The keys that a user presses, from the bytes of a terminal in raw mode. Sequences may be split anywhere. */

export type Key =
	| { readonly type: "text"; readonly text: string }
	/** Never an action: it may contain anything. */
	| { readonly type: "paste"; readonly text: string }
	| { readonly type: "key"; readonly name: KeyName };

export type KeyName =
	| "enter"
	| "escape"
	| "backspace"
	| "clear"
	| "quit"
	| "redraw"
	| "suspend"
	| "up"
	| "down"
	| "page_up"
	| "page_down"
	| "home"
	| "end";

const CONTROLS: Readonly<Record<string, KeyName>> = {
	"\r": "enter",
	"\n": "enter",
	"\u007f": "backspace",
	"\b": "backspace",
	"\u0003": "quit",
	"\u0004": "quit",
	"\u000c": "redraw",
	"\u0015": "clear",
	"\u000e": "down",
	"\u0010": "up",
	"\u001a": "suspend",
};

const SEQUENCES: Readonly<Record<string, KeyName>> = {
	A: "up",
	B: "down",
	H: "home",
	F: "end",
	"5~": "page_up",
	"6~": "page_down",
	"1~": "home",
	"4~": "end",
	"7~": "home",
	"8~": "end",
};

/** A lone escape is a key; the rest of a sequence follows sooner. */
const ESCAPE_MS = 50;
const PASTE_LENGTH_MAX = 100_000;
const ESC = "\u001b";
/** Control and function keys, and the start of one. */
const SEQUENCE = new RegExp(`^${ESC}(?:\\[([\\d;?<>]*[@-~])|O([@-~]))`);
const UNFINISHED = new RegExp(`^${ESC}(?:\\[[\\d;?<>]*|O)?$`);
const PASTE_END = `${ESC}[201~`;

export interface KeyReader {
	take(bytes: Uint8Array): void;
	close(): void;
}

export function createKeyReader(onKey: (key: Key) => void): KeyReader {
	const decoder = new TextDecoder();
	let rest = "";
	let paste: string | null = null;
	let timer: NodeJS.Timeout | undefined;
	const press = (name: KeyName) => onKey({ type: "key", name });

	/** Handles one key and returns the remaining text; null if it is incomplete. */
	function next(text: string): string | null {
		if (paste !== null) return readPaste(text);
		if (text[0] !== ESC) {
			const [letter = ""] = text;
			const name = CONTROLS[letter];
			if (name !== undefined) press(name);
			else if (letter >= " ") onKey({ type: "text", text: letter });
			return text.slice(letter.length);
		}
		const found = SEQUENCE.exec(text);
		if (found !== null) {
			const sequence = found[1] ?? found[2] ?? "";
			if (sequence === "200~") paste = "";
			const name = SEQUENCES[sequence] ?? SEQUENCES[sequence.replace(/^\d+;\d+/, "")];
			if (name !== undefined) press(name);
			return text.slice(found[0].length);
		}
		if (UNFINISHED.test(text)) return null;
		// A key that follows an escape at once: they may have waited together on a slow connection.
		press("escape");
		return text.slice(1);
	}

	function readPaste(text: string): string | null {
		const end = text.indexOf(PASTE_END);
		if (end === -1) {
			// The last characters may be the start of the end.
			const keep = Math.max(0, text.length - PASTE_END.length);
			paste = ((paste ?? "") + text.slice(0, keep)).slice(0, PASTE_LENGTH_MAX);
			rest = text.slice(keep);
			return null;
		}
		onKey({ type: "paste", text: (paste ?? "") + text.slice(0, end) });
		paste = null;
		return text.slice(end + PASTE_END.length);
	}

	return {
		take(bytes) {
			clearTimeout(timer);
			rest += decoder.decode(bytes, { stream: true });
			while (rest !== "") {
				const left = next(rest);
				if (left === null) break;
				rest = left;
			}
			if (paste !== null || !rest.startsWith(ESC)) return;
			timer = setTimeout(() => {
				// An incomplete sequence is dropped, a lone escape is a key.
				const isAlone = rest === ESC;
				rest = "";
				if (isAlone) press("escape");
			}, ESCAPE_MS);
		},
		close: () => clearTimeout(timer),
	};
}
