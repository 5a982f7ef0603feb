/** Attaches to an agent over the daemon's socket, as `reeve attach` does, and types something. */

import { join } from "node:path";
import { createClient } from "../../src/client/client.js";
import { eventually, type FleetHome } from "./fleet-home.js";

/** Resolves when the screen was shown and the terminal has echoed what was typed. */
export async function attachAndType(home: FleetHome, id: string, text: string): Promise<void> {
	const client = createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
	const socket = await client.terminal(id, { columns: 100, rows: 30, readOnly: false });
	let hasScreen = false;
	let shown = "";
	socket.on("message", (data, isBinary) => {
		const piece = Buffer.from(data).toString();
		if (isBinary) shown += piece;
		else if (piece.includes('"snapshot"')) hasScreen = true;
		else if (piece.includes('"closed"')) shown += piece;
	});
	socket.resume();
	try {
		await eventually(() => hasScreen, `${id} shows its screen (${shown})`);
		socket.send(Buffer.from(text));
		await eventually(() => shown.includes(text), `${id} echoes ${text}`);
	} finally {
		socket.terminate();
	}
}
