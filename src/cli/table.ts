/**
 * Tables that fit the terminal. Columns are as wide as their content; the last one gets the rest and wraps, or is
 * truncated if its cell allows it. If too little is left, droppable columns are removed, and if that is not enough the
 * last column moves to its own line below its row; if not even the other columns fit, every row becomes a block with a
 * line per column. Cells are made safe to display, because much of their content comes from agents.
 */

import { plainLine } from "../core/safe-text.js";

const GAP = "  ";
const LAST_COLUMN_MIN = 24;
/** After columns were dropped, a smaller width is acceptable: one line per row is easier to read than two. */
const LAST_COLUMN_BARE_MIN = 14;

export interface Cell {
	readonly text: string;
	/** Applied after measuring, so colours do not disturb the layout. */
	readonly paint?: (text: string) => string;
	/** In the last column: truncate the text instead of using a second line. */
	readonly cut?: boolean;
}

export function renderTable(
	head: readonly string[],
	rows: readonly (readonly Cell[])[],
	columns: number | null,
	/** Optional columns, in the order in which they are dropped. */
	droppable: readonly string[] = [],
): string[] {
	const all = [head.map((text): Cell => ({ text })), ...rows.map((row) => row.map(clean))];
	const lastMin = droppable.length > 0 ? LAST_COLUMN_BARE_MIN : LAST_COLUMN_MIN;
	return layOut(dropColumns(head, all, columns, droppable), columns, lastMin);
}

function clean(cell: Cell): Cell {
	return { ...cell, text: plainLine(cell.text) };
}

/** The rows without as many droppable columns as necessary to make the last one readable. */
function dropColumns(
	head: readonly string[],
	rows: readonly (readonly Cell[])[],
	columns: number | null,
	droppable: readonly string[],
): readonly (readonly Cell[])[] {
	const kept = head.map((_, at) => at);
	const without = () => rows.map((row) => kept.map((at) => row[at] ?? { text: "" }));
	for (const name of droppable) {
		if (columns === null || columns - widthBeforeLast(without()) >= LAST_COLUMN_MIN) break;
		const at = kept.indexOf(head.indexOf(name));
		if (at !== -1) kept.splice(at, 1);
	}
	return without();
}

function widthsOf(rows: readonly (readonly Cell[])[]): number[] {
	const [head = []] = rows;
	return head.map((_, at) =>
		rows.reduce((width, row) => Math.max(width, row[at]?.text.length ?? 0), 0),
	);
}

function widthBeforeLast(rows: readonly (readonly Cell[])[]): number {
	return widthsOf(rows)
		.slice(0, -1)
		.reduce((sum, width) => sum + width + GAP.length, 0);
}

function layOut(
	all: readonly (readonly Cell[])[],
	columns: number | null,
	lastMin: number,
): string[] {
	const widths = widthsOf(all);
	const before = widthBeforeLast(all);
	const left = columns === null ? Number.POSITIVE_INFINITY : columns - before;
	if (columns !== null && before > columns) return renderBlocks(all, columns);
	const ownLine = left < lastMin;
	const indent = ownLine ? 4 : before;
	const room = ownLine ? Math.max(LAST_COLUMN_MIN, (columns ?? 0) - indent) : left;

	return all.flatMap((row, index) => {
		const cells = row
			.slice(0, -1)
			.map((cell, at) => paint(cell, cell.text.padEnd(widths[at] ?? 0)));
		const last = row.at(-1) ?? { text: "" };
		const fitted = last.cut ? [cutShort(last.text, room)] : wrap(last.text, room);
		const [first = "", ...more] = fitted.map((line) => paint(last, line));
		const start = cells.join(GAP);
		if (ownLine && (index === 0 || last.text === "")) return [start.trimEnd()];
		const lines = ownLine ? [start, `${" ".repeat(indent)}${first}`] : [`${start}${GAP}${first}`];
		return [...lines, ...more.map((line) => `${" ".repeat(indent)}${line}`)].map((line) =>
			line.trimEnd(),
		);
	});
}

function renderBlocks(all: readonly (readonly Cell[])[], columns: number): string[] {
	const [head = [], ...rows] = all;
	const width = Math.max(...head.map(({ text }) => text.length)) + GAP.length;
	return rows.flatMap((row, index) => {
		const lines = row.flatMap((cell, at) => {
			const name = (head[at]?.text ?? "").padEnd(width);
			const [first = "", ...more] = wrap(cell.text, Math.max(1, columns - width));
			const rest = more.map((line) => `${" ".repeat(width)}${paint(cell, line)}`);
			return [`${name}${paint(cell, first)}`.trimEnd(), ...rest];
		});
		return index === 0 ? lines : ["", ...lines];
	});
}

function paint(cell: Cell, text: string): string {
	return cell.paint === undefined ? text : cell.paint(text);
}

function cutShort(text: string, width: number): string {
	return text.length <= width ? text : `${text.slice(0, width - 1).trimEnd()}…`;
}

/** Breaks text at spaces so that no line is longer than `width`, except for a single long word. */
function wrap(text: string, width: number): string[] {
	const lines: string[] = [];
	let line = "";
	for (const word of text.split(" ")) {
		const longer = line === "" ? word : `${line} ${word}`;
		if (longer.length <= width || line === "") {
			line = longer;
			continue;
		}
		lines.push(line);
		line = word;
	}
	return [...lines, line];
}
