/**
 * The display of an attached terminal: the agent's bytes as they arrive, snapshots on a cleared screen, and occasional
 * notices from Reeve. A notice never mixes with the agent's output: it is drawn only over an unchanged snapshot, later
 * output waits until the snapshot is restored, and at any other time the window's title shows it.
 */

import { plainLine } from "../core/safe-text.js";
import type { TerminalMessage } from "../http/contract/streams.js";
import type { RawTerminal } from "./raw-terminal.js";

const CLEAR = Buffer.from("\u001b[0m\u001b[?25h\u001b[H\u001b[2J");
const NOTICE_MS = 1_500;
/** More output than this ends a notice early (A6). */
const HELD_BYTES_MAX = 262_144;

export interface AttachedScreen {
	/** The output for these bytes of the agent. */
	draw(bytes: Buffer): void;
	onMessage(message: TerminalMessage | null): void;
	/** A key was pressed: the user wants to see its effect. */
	typed(): void;
	/** Why the daemon closed the terminal, if it reported that. */
	readonly closedFor: string | null;
	/** Whether anything was ever shown. */
	readonly seen: boolean;
	end(): void;
}

export function createAttachedScreen(
	write: (bytes: Buffer) => void,
	terminal: Pick<RawTerminal, "notice" | "title">,
	{ greeting, readOnly }: { readonly greeting: string; readonly readOnly: boolean },
): AttachedScreen {
	let closedFor: string | null = null;
	let seen = false;
	let snapshotNext = false;
	/** The whole screen, until something is drawn over it. */
	let snapshot: Buffer | null = null;
	/** Output that is held until the notice ends; null if there is no notice. */
	let held: Buffer[] | null = null;
	let mayWrite = !readOnly;
	let timer: NodeJS.Timeout | undefined;

	function notice(text: string): void {
		terminal.title(text);
		if (snapshot === null) return;
		terminal.notice(text);
		held ??= [];
		clearTimeout(timer);
		timer = setTimeout(endNotice, NOTICE_MS);
	}

	function endNotice(): void {
		clearTimeout(timer);
		if (held === null) return;
		const waiting = Buffer.concat(held);
		held = null;
		if (snapshot !== null) write(snapshot);
		if (waiting.length > 0) show(waiting);
	}

	function show(bytes: Buffer): void {
		snapshot = null;
		write(bytes);
	}

	function showSnapshot(bytes: Buffer): void {
		// It replaces everything on the screen, including a notice and held output.
		held = null;
		clearTimeout(timer);
		snapshot = Buffer.concat([CLEAR, bytes]);
		write(snapshot);
	}

	function onWriter({ you, holder }: Extract<TerminalMessage, { type: "writer" }>): void {
		if (readOnly || you === mayWrite) return;
		mayWrite = you;
		const who = holder === null ? "another client" : plainLine(holder.label);
		notice(
			you
				? "you can type again"
				: `${who} has the keyboard, so your keys are ignored until it detaches; attach again to take over`,
		);
	}

	return {
		draw(bytes) {
			if (snapshotNext) showSnapshot(bytes);
			else if (held === null) show(bytes);
			else if (held.push(bytes) && sizeOf(held) > HELD_BYTES_MAX) endNotice();
			snapshotNext = false;
			if (!seen) notice(greeting);
			seen = true;
		},
		onMessage(message) {
			if (message?.type === "snapshot") snapshotNext = true;
			else if (message?.type === "writer") onWriter(message);
			else if (message?.type === "closed") closedFor = message.reason;
		},
		typed: endNotice,
		get closedFor() {
			return closedFor;
		},
		get seen() {
			return seen;
		},
		end: () => clearTimeout(timer),
	};
}

function sizeOf(parts: readonly Buffer[]): number {
	return parts.reduce((bytes, part) => bytes + part.length, 0);
}
