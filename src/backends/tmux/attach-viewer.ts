/** A viewer's own connection to a run's session: one that reads slowly slows nobody else. */

import type { TerminalConnection, TerminalSize, TerminalViewer } from "../../ports/backend.js";
import { ControlClient, type ServerPlace } from "./control-client.js";
import { parseOutput } from "./control-parser.js";
import { renderSnapshot, snapshotCommands } from "./screen.js";

export interface ViewedRun {
	readonly place: ServerPlace;
	/** An exact target. */
	readonly target: string;
	write(bytes: Uint8Array): void;
}

export async function attachViewer(
	{ place, target, write }: ViewedRun,
	viewer: TerminalViewer,
	size: TerminalSize | null,
): Promise<TerminalConnection> {
	let isClosed = false;
	// What is printed before the snapshot is in it.
	let follows = false;
	const client = new ControlClient(place, ["attach-session", "-t", target], {
		onNotice(line) {
			const output = follows ? parseOutput(line) : null;
			if (output !== null && !isClosed) viewer.onOutput(output.bytes);
		},
		onClose: () => close("the agent has ended, or its terminal is gone"),
	});

	function close(reason: string): void {
		if (isClosed) return;
		isClosed = true;
		viewer.onClose(reason);
		client.close();
	}

	const resize = ({ columns, rows }: TerminalSize) =>
		client.send(`resize-window -t '${target}' -x ${columns} -y ${rows}`, 1, () => {});

	function draw(): void {
		client.send(snapshotCommands(`'${target}'`), 2, (answer) => {
			if (isClosed) return;
			if (answer instanceof Error) {
				close(answer.message);
				return;
			}
			const [lines = [], [facts] = []] = answer.bodies;
			const drawn = renderSnapshot(lines, facts?.toString() ?? "");
			viewer.onSnapshot(drawn.bytes, drawn.size);
			follows = true;
		});
	}

	try {
		await client.ready;
		if (size !== null) resize(size);
		draw();
	} catch {
		// It has been told why.
	}
	return {
		write,
		resize,
		close() {
			isClosed = true;
			client.close();
		},
	};
}
