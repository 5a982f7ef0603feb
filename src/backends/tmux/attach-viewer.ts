/** A viewer's own connection to a run's session, so that a slow one does not affect others. */

import type { TerminalConnection, TerminalSize, TerminalViewer } from "../../ports/backend.js";
import type { ControlClient } from "./control-client.js";
import { parseOutput } from "./control-parser.js";
import type { TmuxServer } from "./tmux-server.js";

export interface ViewedRun {
	readonly server: TmuxServer;
	readonly session: string;
	write(bytes: Uint8Array): void;
}

export async function attachViewer(
	{ server, session, write }: ViewedRun,
	viewer: TerminalViewer,
	size: TerminalSize | null,
): Promise<TerminalConnection> {
	const target = `'=${session}:'`;
	let client: ControlClient | null = null;
	let isClosed = false;
	// Output before the snapshot is part of it.
	let follows = false;

	function close(): void {
		isClosed = true;
		if (client !== null) server.endView(client);
		client = null;
	}

	function tellClosed(reason: string): void {
		if (isClosed) return;
		viewer.onClose(reason);
		close();
	}

	const resize = ({ columns, rows }: TerminalSize) =>
		client?.send(`resize-window -t ${target} -x ${columns} -y ${rows}`, 1, () => {});

	function draw(): void {
		client?.send(snapshotCommands(target), 2, (answer) => {
			if (isClosed) return;
			if (answer instanceof Error) {
				tellClosed(answer.message);
				return;
			}
			const [lines = [], [facts] = []] = answer.bodies;
			const drawn = renderSnapshot(lines, facts?.toString() ?? "");
			viewer.onSnapshot(drawn.bytes, drawn.size);
			follows = true;
		});
	}

	try {
		client = await server.view(session, {
			onNotice(line) {
				const output = follows ? parseOutput(line) : null;
				if (output !== null && !isClosed) viewer.onOutput(output.bytes);
			},
			onClose: () => tellClosed("the agent has exited, or its terminal is gone"),
		});
		if (size !== null) resize(size);
		draw();
	} catch {
		// The reason was already reported.
	}
	return { write, resize, close };
}

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

/** Both commands in one line, so that nothing is printed in between; two responses. */
const snapshotCommands = (target: string) =>
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

function renderSnapshot(
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
