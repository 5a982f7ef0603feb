/** The visible part of an emulator as rows of styled text. */

import type { IBufferCell, IBufferLine, Terminal } from "@xterm/headless";
import { plainLine, safeText } from "../../../core/safe-text.js";
import type { StyledScreen, StyledText } from "../../../ports/backend.js";
import { isCursorHidden } from "./supplement.js";

const TITLE_LENGTH_MAX = 200;

type Style = Omit<StyledText, "text">;

export function renderStyled(terminal: Terminal, title: string): Omit<StyledScreen, "complete"> {
	const { active } = terminal.buffer;
	const { cols: columns, rows } = terminal;
	const cell = active.getNullCell();
	const lines = Array.from({ length: rows }, (_, row) => {
		const line = active.getLine(active.baseY + row);
		return line === undefined ? [] : renderLine(line, columns, cell);
	});
	return {
		columns,
		rows,
		lines,
		cursor: {
			// After the last column, the cursor waits for the next character.
			x: Math.min(active.cursorX, columns - 1),
			y: active.cursorY,
			visible: !isCursorHidden(terminal),
		},
		title: plainLine(title).slice(0, TITLE_LENGTH_MAX),
	};
}

function renderLine(line: IBufferLine, columns: number, cell: IBufferCell): readonly StyledText[] {
	const found: { text: string; readonly style: Style; readonly key: string }[] = [];
	for (let x = 0; x < columns; x++) {
		if (line.getCell(x, cell) === undefined) break;
		// The second half of a wide character.
		if (cell.getWidth() === 0) continue;
		const letters = cell.isInvisible() ? " " : cell.getChars() || " ";
		const style = styleOf(cell);
		const key = JSON.stringify(style);
		const last = found.at(-1);
		if (last?.key === key) last.text += letters;
		else found.push({ text: letters, style, key });
	}
	const end = found.at(-1);
	if (end?.key === "{}") {
		end.text = end.text.trimEnd();
		if (end.text === "") found.pop();
	}
	return found.map(({ text, style }) => ({ text: safeText(text), ...style }));
}

function styleOf(cell: IBufferCell): Style {
	// Most cells have none.
	if (cell.isAttributeDefault()) return {};
	const fg = cell.isFgDefault() ? null : colorOf(cell.getFgColor(), cell.isFgRGB());
	const bg = cell.isBgDefault() ? null : colorOf(cell.getBgColor(), cell.isBgRGB());
	return {
		...(fg !== null && { fg }),
		...(bg !== null && { bg }),
		...(cell.isBold() !== 0 && { bold: true as const }),
		...(cell.isDim() !== 0 && { dim: true as const }),
		...(cell.isItalic() !== 0 && { italic: true as const }),
		...(cell.isUnderline() !== 0 && { underline: true as const }),
		...(cell.isInverse() !== 0 && { inverse: true as const }),
		...(cell.isStrikethrough() !== 0 && { strikethrough: true as const }),
	};
}

function colorOf(color: number, isRgb: boolean): number | string {
	return isRgb ? `#${color.toString(16).padStart(6, "0")}` : color;
}
