/**
 * Tables that fit the terminal. Columns are as wide as their content; the last one takes what is
 * left and wraps. Where less is left than can be read, it goes on a line of its own under its row;
 * where not even the other columns fit, every row becomes a block with a line per column.
 */

const GAP = "  ";
const LAST_COLUMN_MIN = 24;

export interface Cell {
	readonly text: string;
	/** Applied after measuring, so colours do not disturb the layout. */
	readonly paint?: (text: string) => string;
}

export function renderTable(
	head: readonly string[],
	rows: readonly (readonly Cell[])[],
	columns: number | null,
): string[] {
	const all = [head.map((text): Cell => ({ text })), ...rows];
	const widths = head.map((_, at) => Math.max(...all.map((row) => row[at]?.text.length ?? 0)));
	const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
	const left = columns === null ? Number.POSITIVE_INFINITY : columns - before;
	if (columns !== null && before > columns) return renderBlocks(head, rows, columns);
	const ownLine = left < LAST_COLUMN_MIN;
	const indent = ownLine ? 4 : before;
	const room = ownLine ? Math.max(LAST_COLUMN_MIN, (columns ?? 0) - indent) : left;

	return all.flatMap((row, index) => {
		const cells = row
			.slice(0, -1)
			.map((cell, at) => paint(cell, cell.text.padEnd(widths[at] ?? 0)));
		const last = row.at(-1) ?? { text: "" };
		const wrapped = wrap(last.text, room).map((line) => paint(last, line));
		const [first = "", ...more] = wrapped;
		const start = cells.join(GAP);
		if (ownLine && index === 0) return [start.trimEnd()];
		const lines = ownLine ? [start, `${" ".repeat(indent)}${first}`] : [`${start}${GAP}${first}`];
		return [...lines, ...more.map((line) => `${" ".repeat(indent)}${line}`)].map((line) =>
			line.trimEnd(),
		);
	});
}

function renderBlocks(
	head: readonly string[],
	rows: readonly (readonly Cell[])[],
	columns: number,
): string[] {
	const width = Math.max(...head.map((text) => text.length)) + GAP.length;
	return rows.flatMap((row, index) => {
		const lines = row.flatMap((cell, at) => {
			const name = (head[at] ?? "").padEnd(width);
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

/** Breaks text at spaces so that no line is longer than `width`, unless one word is. */
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
