/** A viewer's own connection to a run's session: one that reads slowly slows nobody else. */

import type { TerminalConnection, TerminalSize, TerminalViewer } from "../../ports/backend.js";
import type { ControlClient } from "./control-client.js";
import { parseOutput } from "./control-parser.js";
import { renderSnapshot, snapshotCommands } from "./screen.js";
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
	// What is printed before the snapshot is in it.
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
		// It has been told why.
	}
	return { write, resize, close };
}
