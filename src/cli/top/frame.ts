/**
 * A frame of the terminal as cells, and the escape sequences that turn one frame into the next: only changed
 * cells are written, so that a slow connection is enough. No cell contains a control character, whatever the text (A10).
 */

export interface Segment {
	readonly text: string;
	/** The parameters of an SGR sequence, such as `1;31`; empty for the default. */
	readonly sgr?: string;
}

export type Line = readonly Segment[];

interface Cell {
	/** Empty for the second half of a wide character. */
	readonly text: string;
	readonly sgr: string;
}

export type Frame = readonly (readonly Cell[])[];

const BLANK: Cell = { text: " ", sgr: "" };

/** The columns that a character needs. */
function widthOf(letter: string): 0 | 1 | 2 {
	if (/^[\x20-\x7e]$/.test(letter)) return 1;
	if (/^[\p{Mark}\p{Format}\p{Control}]+$/u.test(letter)) return 0;
	return /^[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\uff01-\uff60\uffe0-\uffe6\u3000-\u303f]/u.test(
		letter,
	)
		? 2
		: 1;
}

/** The first columns of a text, with a mark if it was cut. */
export function cutText(text: string, columns: number, more: string): string {
	if (columns <= 0) return "";
	let [out, used] = ["", 0];
	for (const letter of text) {
		const width = widthOf(letter);
		if (used + width > columns) return `${trimTo(out, columns - more.length)}${more}`;
		out += letter;
		used += width;
	}
	return out;
}

function trimTo(text: string, columns: number): string {
	let [out, used] = ["", 0];
	for (const letter of text) {
		used += widthOf(letter);
		if (used > columns) break;
		out += letter;
	}
	return out.trimEnd();
}

export function textWidth(text: string): number {
	let width = 0;
	for (const letter of text) width += widthOf(letter);
	return width;
}

/** At spaces; a longer word is broken. */
export function wrapText(text: string, columns: number): string[] {
	const lines: string[] = [];
	let line = "";
	for (const word of text.split(" ")) {
		let rest = word;
		const longer = line === "" ? rest : `${line} ${rest}`;
		if (textWidth(longer) <= columns) {
			line = longer;
			continue;
		}
		if (line !== "") lines.push(line);
		while (textWidth(rest) > columns) {
			const part = cutText(rest, columns, "");
			if (part === "") break;
			lines.push(part);
			rest = rest.slice(part.length);
		}
		line = rest;
	}
	return [...lines, line];
}

export function padText(text: string, columns: number, side: "left" | "right" = "right"): string {
	const blanks = " ".repeat(Math.max(0, columns - textWidth(text)));
	return side === "right" ? text + blanks : blanks + text;
}

/** Lines that are too long are cut, missing ones are blank. */
export function createFrame(lines: readonly Line[], columns: number, rows: number): Frame {
	return Array.from({ length: rows }, (_, row) => fillRow(lines[row] ?? [], columns));
}

function fillRow(line: Line, columns: number): readonly Cell[] {
	const cells: Cell[] = [];
	for (const { text, sgr = "" } of line) {
		for (const letter of text) {
			if (/\p{Control}/u.test(letter)) continue;
			const width = widthOf(letter);
			const last = cells.at(-1);
			if (width === 0 && last !== undefined && last.text !== "") {
				cells[cells.length - 1] = { ...last, text: last.text + letter };
			}
			if (width === 0) continue;
			if (cells.length + width > columns) return pad(cells, columns);
			cells.push({ text: letter, sgr });
			if (width === 2) cells.push({ text: "", sgr });
		}
	}
	return pad(cells, columns);
}

function pad(cells: Cell[], columns: number): readonly Cell[] {
	while (cells.length < columns) cells.push(BLANK);
	return cells;
}

/** Sequences that turn `before` into `now`; null for an unknown screen. Empty if nothing has changed. */
export function renderChanges(before: Frame | null, now: Frame): string {
	const isOther =
		before === null || before.length !== now.length || before[0]?.length !== now[0]?.length;
	const known = isOther ? null : before;
	let [out, sgr] = [known === null ? "\u001b[0m\u001b[H\u001b[2J" : "", ""];
	for (const [row, cells] of now.entries()) {
		let at = -1;
		for (const [column, cell] of cells.entries()) {
			const old = known?.[row]?.[column] ?? BLANK;
			const isSame = old.text === cell.text && old.sgr === cell.sgr;
			// The second half is drawn with the first.
			if (isSame || cell.text === "") continue;
			if (at !== column) out += `\u001b[${row + 1};${column + 1}H`;
			if (sgr !== cell.sgr) out += `\u001b[0${cell.sgr === "" ? "" : `;${cell.sgr}`}m`;
			sgr = cell.sgr;
			out += cell.text;
			at = column + Math.max(1, widthOf(cell.text.slice(0, 2)));
		}
	}
	return sgr === "" ? out : `${out}\u001b[0m`;
}
