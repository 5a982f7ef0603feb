/** The bytes that draw a pane's screen anew, from what tmux tells of it. */

import type { TerminalSize } from "../../ports/backend.js";

const FACTS = [
	"pane_width",
	"pane_height",
	"cursor_x",
	"cursor_y",
	"alternate_on",
	"cursor_flag",
	"keypad_cursor_flag",
	"mouse_standard_flag",
	"mouse_button_flag",
	"mouse_any_flag",
	"mouse_sgr_flag",
] as const;

type Facts = Record<(typeof FACTS)[number], number>;

/** Both commands in one line, so that nothing is printed in between; two answers. */
export const snapshotCommands = (target: string) =>
	`capture-pane -p -e -N -t ${target} ; display-message -p -t ${target} '${FACTS.map(
		(fact) => `#{${fact}}`,
	).join(" ")}'`;

/** Modes of a terminal that are on while the fact is 1. */
const MODES: readonly [fact: keyof Facts, mode: string][] = [
	["keypad_cursor_flag", "?1"],
	["mouse_standard_flag", "?1000"],
	["mouse_button_flag", "?1002"],
	["mouse_any_flag", "?1003"],
	["mouse_sgr_flag", "?1006"],
];

export function renderSnapshot(
	lines: readonly Buffer[],
	facts: string,
): { readonly bytes: Buffer; readonly size: TerminalSize } {
	const values = facts.split(" ");
	const known = Object.fromEntries(FACTS.map((fact, at) => [fact, Number(values[at])])) as Facts;
	const before = `\u001bc${known.alternate_on === 1 ? "\u001b[?1049h" : ""}\u001b[H`;
	const modes = MODES.filter(([fact]) => known[fact] === 1).map(([, mode]) => `\u001b[${mode}h`);
	const after = [
		`\u001b[0m\u001b[${known.cursor_y + 1};${known.cursor_x + 1}H`,
		...modes,
		known.cursor_flag === 0 ? "\u001b[?25l" : "",
	].join("");
	const drawn = lines.flatMap((line, at) => (at === 0 ? [line] : [Buffer.from("\r\n"), line]));
	return {
		bytes: Buffer.concat([Buffer.from(before), ...drawn, Buffer.from(after)]),
		size: { columns: known.pane_width, rows: known.pane_height },
	};
}
