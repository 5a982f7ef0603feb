/**
 * Detects the detach keys in the input. A program may have asked the terminal to send keys with
 * modifiers as sequences instead of single bytes; those are supported too.
 */

import type { ReeveError } from "../core/errors.js";
import { invalidValue } from "./arguments.js";

const KEYS_MAX = 8;

interface Key {
	readonly byte: number;
	/** The key without Ctrl, if it is typed with it. */
	readonly base: number | null;
}

export interface DetachKeys {
	/** For display: `Ctrl-]`. */
	readonly name: string;
	readonly keys: readonly Key[];
}

/** `ctrl-]`, `ctrl-p,ctrl-q`, `~,.`: a sequence of keys. */
export function parseDetachKeys(text: string): DetachKeys {
	const parts = text.split(",");
	const keys = parts.map(parseKey);
	if (keys.length > KEYS_MAX) throw refuse(text);
	const name = parts.map((part) => part.replace(/^ctrl-(.)$/i, (_, key: string) => `Ctrl-${key}`));
	return { name: name.join(" "), keys: keys.map((key) => key ?? raise(text)) };
}

function parseKey(part: string): Key | null {
	if (/^[\x21-\x7e]$/.test(part)) return { byte: part.charCodeAt(0), base: null };
	const key = /^ctrl-([a-z@[\]\\^_])$/i.exec(part)?.[1]?.toLowerCase();
	if (key === undefined) return null;
	const base = key.charCodeAt(0);
	return { byte: base & 0x1f, base };
}

function raise(text: string): never {
	throw refuse(text);
}

function refuse(text: string): ReeveError {
	const hint =
		"Use `ctrl-` with a letter or one of @ [ ] \\ ^ _, or a single character, separated by commas: ctrl-p,ctrl-q.";
	return invalidValue("--detach-keys", text, hint);
}

export interface DetachMatcher {
	/** The part of the input for the agent, and whether the detach keys were typed. */
	take(input: Uint8Array): { readonly pass: Buffer; readonly detach: boolean };
}

export function createDetachMatcher({ keys }: DetachKeys): DetachMatcher {
	/** Typed keys that may become the whole sequence: they are held until the next one. */
	let held: Buffer[] = [];
	return {
		take(input) {
			const pass: Buffer[] = [];
			for (const token of tokens(Buffer.from(input))) {
				if (!matches(token, keys[held.length])) {
					pass.push(...held);
					held = [];
				}
				if (!matches(token, keys[held.length])) pass.push(token);
				else if (held.push(token) === keys.length) {
					return { pass: Buffer.concat(pass), detach: true };
				}
			}
			return { pass: Buffer.concat(pass), detach: false };
		},
	};
}

/** After ESC, `[93;5u` and `[27;5;93~` are both Ctrl-]. Never split: a terminal sends each at once. */
const LONG_KEY = /^\[(?:(\d+)(?::\d*)*;(\d+)(?::1)?u|27;(\d+);(\d+)~)/;
const LONG_KEY_MAX = 24;
const ESC = 0x1b;
/** Modifiers are sent as 1 plus a bit mask, which includes lock keys. */
const CTRL = 4;
const MODIFIERS = 0x3f;

function* tokens(input: Buffer): Generator<Buffer> {
	let at = 0;
	while (at < input.length) {
		const length = input[at] === ESC ? 1 + longKeyAt(input, at).length : 1;
		yield input.subarray(at, at + length);
		at += length;
	}
}

function longKeyAt(input: Buffer, at: number): string {
	return LONG_KEY.exec(input.toString("latin1", at + 1, at + LONG_KEY_MAX))?.[0] ?? "";
}

function matches(token: Buffer, key: Key | undefined): boolean {
	if (key === undefined) return false;
	if (token.length === 1) return token[0] === key.byte;
	const [, kitty, kittyModifiers, xtermModifiers, xterm] =
		LONG_KEY.exec(token.toString("latin1", 1)) ?? [];
	const modifiers = (Number(kittyModifiers ?? xtermModifiers) - 1) & MODIFIERS;
	return modifiers === CTRL && Number(kitty ?? xterm) === key.base;
}
