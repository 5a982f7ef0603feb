/** From an offset in the text to the line and column that an editor shows. */

import type { LineCounter } from "yaml";
import type { Position } from "./problem.js";

export function positionAt(lines: LineCounter, offset: number): Position {
	const { line, col } = lines.linePos(offset);
	// The counter knows no line in an empty file.
	return { line: Math.max(1, line), column: Math.max(1, col) };
}
