/** Parses typed bytes into keys; pastes are bracketed. Pure. */

export type Key =
	| { readonly type: "text"; readonly text: string }
	| { readonly type: "paste"; readonly text: string }
	| { readonly type: "enter" | "esc" | "ctrl_c" | "ctrl_d" | "up" | "down" | "backspace" };

const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";

const SEQUENCES: readonly (readonly [string, Exclude<Key["type"], "text" | "paste">])[] = [
	["\u001b[A", "up"],
	["\u001b[B", "down"],
	["\u001bOA", "up"],
	["\u001bOB", "down"],
	["\r", "enter"],
	["\u0003", "ctrl_c"],
	["\u0004", "ctrl_d"],
	["\u007f", "backspace"],
	["\u001b", "esc"],
];

export interface Decoded {
	readonly keys: readonly Key[];
	/** The start of a paste whose end has not arrived yet. */
	readonly rest: string;
}

export function decodeKeys(input: string): Decoded {
	const keys: Key[] = [];
	let left = input;
	while (left !== "") {
		if (left.startsWith(PASTE_START)) {
			const end = left.indexOf(PASTE_END);
			if (end === -1) return { keys, rest: left };
			keys.push({ type: "paste", text: left.slice(PASTE_START.length, end) });
			left = left.slice(end + PASTE_END.length);
			continue;
		}
		const known = SEQUENCES.find(([sequence]) => left.startsWith(sequence));
		if (known !== undefined) {
			keys.push({ type: known[1] });
			left = left.slice(known[0].length);
			continue;
		}
		// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters.
		const text = /^[^\u001b\r\u0003\u0004\u007f]+/.exec(left)?.[0] ?? left;
		keys.push({ type: "text", text });
		left = left.slice(text.length);
	}
	return { keys, rest: "" };
}

/**
 * A chunk that contains text and ends with Enter was not typed by hand: that Enter is part of the text.
 */
export function isPastedEnter(keys: readonly Key[], index: number): boolean {
	const before = keys[index - 1];
	return before?.type === "text" || before?.type === "paste";
}
