/**
 * State that the serialize addon omits from a snapshot: hidden cursor, encoding of mouse reports, scroll region, origin
 * mode's cursor, character sets, the saved cursor and its shape. Read from the emulator's internal state, which is not
 * part of its public interface; if that has another shape, the snapshot is marked as incomplete instead.
 */

import type { Terminal } from "@xterm/headless";

interface Pen {
	readonly fg: number;
	readonly bg: number;
}

type Charset = Readonly<Record<string, string>> | undefined;

interface Core {
	readonly coreService: {
		readonly isCursorHidden: boolean;
		readonly decPrivateModes: {
			readonly origin: boolean;
			readonly cursorStyle?: string;
			readonly cursorBlink?: boolean;
		};
	};
	readonly coreMouseService: { readonly activeEncoding: string };
	readonly _charsetService: { readonly glevel: number; readonly _charsets: readonly Charset[] };
	readonly _bufferService: {
		readonly buffer: {
			readonly x: number;
			readonly y: number;
			readonly ybase: number;
			readonly scrollTop: number;
			readonly scrollBottom: number;
			readonly savedX: number;
			readonly savedY: number;
			readonly savedCurAttrData: Pen;
			readonly savedCharset: Charset;
		};
	};
	readonly _inputHandler: { readonly _curAttrData: Pen };
}

/** Whether the program has hidden the cursor; false if that cannot be read. */
export function isCursorHidden(terminal: Terminal): boolean {
	const core = (terminal as unknown as { readonly _core?: Partial<Core> })._core;
	return core?.coreService?.isCursorHidden ?? false;
}

/** Sequences to be written after the serialized screen; null if the state cannot be read. */
export function renderSupplement(terminal: Terminal): string | null {
	const core = (terminal as unknown as { readonly _core?: Core })._core;
	try {
		return core === undefined ? null : render(core, terminal.rows);
	} catch {
		return null;
	}
}

const csi = (text: string) => `\u001b[${text}`;
const STYLES: Readonly<Record<string, number>> = { block: 1, underline: 3, bar: 5 };
const ENCODINGS: Readonly<Record<string, string>> = { SGR: "?1006h", SGR_PIXELS: "?1016h" };

function render(core: Core, rows: number): string | null {
	const { coreService, coreMouseService, _charsetService: charsets } = core;
	const { buffer } = core._bufferService;
	const { origin, cursorStyle, cursorBlink } = coreService.decPrivateModes;
	const hasRegion = buffer.scrollTop !== 0 || buffer.scrollBottom !== rows - 1;
	const saved = renderSavedCursor(core, origin);
	const sets = charsets._charsets.map(charsetName);
	if (sets.includes(null)) return null;
	const encoding = ENCODINGS[coreMouseService.activeEncoding];
	const style = cursorStyle === undefined ? undefined : STYLES[cursorStyle];
	const place = csi(`${buffer.y - (origin ? buffer.scrollTop : 0) + 1};${buffer.x + 1}H`);
	const moves = hasRegion || origin || saved !== "";
	return [
		saved,
		hasRegion ? csi(`${buffer.scrollTop + 1};${buffer.scrollBottom + 1}r`) : "",
		// Both have moved the cursor.
		origin ? csi("?6h") : "",
		moves ? place : "",
		...sets.map((name, number) => (name === "B" ? "" : `\u001b${"()*+"[number]}${name}`)),
		charsets.glevel === 1 ? "\u000e" : "",
		encoding === undefined ? "" : csi(encoding),
		style === undefined ? "" : csi(`${style + (cursorBlink === false ? 1 : 0)} q`),
		coreService.isCursorHidden ? csi("?25l") : "",
	].join("");
}

const isPlain = ({ fg, bg }: Pen) => fg === 0 && bg === 0;

/** Only with default attributes: saving a cursor saves the attributes as well, and they could not be restored. */
function renderSavedCursor({ _bufferService, _inputHandler }: Core, origin: boolean): string {
	const { savedX, savedY, savedCurAttrData, savedCharset, ybase, y, x } = _bufferService.buffer;
	const row = savedY - ybase;
	const isUnused = savedX === 0 && savedY === 0;
	const isSame = row === y && savedX === x;
	if (isUnused || isSame || row < 0 || origin || savedCharset !== undefined) return "";
	if (!isPlain(savedCurAttrData) || !isPlain(_inputHandler._curAttrData)) return "";
	return `${csi(`${row + 1};${savedX + 1}H`)}\u001b7`;
}

/** The letter that designates a set; null for one that is neither ASCII nor line drawing. */
function charsetName(charset: Charset): "0" | "B" | null {
	if (charset === undefined || charset === null) return "B";
	return charset["a"] === "▒" ? "0" : null;
}
