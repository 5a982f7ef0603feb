/** Converts an offset in the text to a line and column. */

import type { LineCounter } from "yaml";
import type { Position } from "./problem.js";

export function positionAt(lines: LineCounter, offset: number): Position {
	const { line, col } = lines.linePos(offset);
	// The counter has no lines for an empty file.
	return { line: Math.max(1, line), column: Math.max(1, col) };
}
