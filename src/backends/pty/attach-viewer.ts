/** A viewer's own connection to the holder: one that reads slowly slows nobody else. */

import type { TerminalConnection, TerminalSize, TerminalViewer } from "../../ports/backend.js";
import { type HolderPlace, reachHolder } from "./holder-process.js";
import { encodeFrame, type FromViewer } from "./protocol.js";

export async function attachViewer(
	place: HolderPlace,
	runId: string,
	viewer: TerminalViewer,
	size: TerminalSize | null,
): Promise<TerminalConnection> {
	const { socket, receive } = await reachHolder(place);
	let isClosed = false;
	function close(reason: string): void {
		if (isClosed) return;
		isClosed = true;
		viewer.onClose(reason);
	}
	receive(({ header, bytes }) => {
		if (isClosed) return;
		if (header.type === "output") viewer.onOutput(bytes);
		else if (header.type === "snapshot") viewer.onSnapshot(bytes, header.size);
		else if (header.type === "closed") close(header.reason);
	});
	socket.once("close", () => close("the connection to the holder dropped"));
	const send = (header: FromViewer, bytes?: Uint8Array) => {
		if (!socket.destroyed) socket.write(encodeFrame(header, bytes));
	};
	send({ type: "attach", runId, size });
	return {
		write: (bytes) => send({ type: "write" }, bytes),
		resize: (to) => send({ type: "resize", size: to }),
		close() {
			isClosed = true;
			socket.destroy();
		},
	};
}
