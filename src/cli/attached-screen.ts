/**
 * What an attached terminal shows: the agent's bytes as they come, snapshots on a cleared screen, and
 * now and then a line from Reeve, which is taken away again where that can be done without a trace.
 */

import type { TerminalMessage } from "../http/contract/streams.js";
import type { RawTerminal } from "./raw-terminal.js";

const CLEAR = Buffer.from("\u001b[0m\u001b[?25h\u001b[H\u001b[2J");
const NOTICE_MS = 2_000;

export interface AttachedScreen {
	/** What to write for these bytes of the agent. */
	draw(bytes: Buffer): void;
	hear(message: TerminalMessage | null): void;
	/** Why the daemon closed the terminal, where it said so. */
	readonly closedFor: string | null;
	/** Whether anything was ever shown. */
	readonly seen: boolean;
	end(): void;
}

export function createAttachedScreen(
	write: (bytes: Buffer) => void,
	terminal: Pick<RawTerminal, "notice">,
	{ greeting, readOnly }: { readonly greeting: string; readonly readOnly: boolean },
): AttachedScreen {
	let closedFor: string | null = null;
	let seen = false;
	let snapshotNext = false;
	/** The whole screen, as long as nothing was drawn since. */
	let snapshot: Buffer | null = null;
	let mayWrite = !readOnly;
	let timer: NodeJS.Timeout | undefined;

	function notice(text: string): void {
		terminal.notice(text);
		clearTimeout(timer);
		timer = setTimeout(() => {
			if (snapshot !== null) write(snapshot);
		}, NOTICE_MS);
	}

	function hearWriter(you: boolean): void {
		if (readOnly || you === mayWrite) return;
		mayWrite = you;
		notice(
			you
				? "what you type is taken again"
				: "somebody else types now: what you type is not taken; attach again to take over",
		);
	}

	return {
		draw(bytes) {
			snapshot = snapshotNext ? Buffer.concat([CLEAR, bytes]) : null;
			write(snapshot ?? bytes);
			snapshotNext = false;
			if (!seen) notice(greeting);
			seen = true;
		},
		hear(message) {
			if (message?.type === "snapshot") snapshotNext = true;
			else if (message?.type === "writer") hearWriter(message.you);
			else if (message?.type === "closed") closedFor = message.reason;
		},
		get closedFor() {
			return closedFor;
		},
		get seen() {
			return seen;
		},
		end: () => clearTimeout(timer),
	};
}
