/**
 * Streams a screen to one reader: the whole screen first, then the rows that have changed, at a bounded rate. While the
 * reader is busy nothing is rendered, so a slow reader costs one screen of memory and gets fewer, larger messages (A6).
 */

import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../engine/engine.js";
import type { ScreenWatch, StyledScreen } from "../ports/backend.js";
import type { ChangedRowsJson, ScreenMessages, StyledScreenJson } from "./contract/screens.js";
import type { Keyboards, Watcher } from "./keyboards.js";
import { createStreamOutput, STREAM_LIMITS, type StreamLimits } from "./stream-output.js";

/** At most ten messages a second. */
const EVERY_MS = 100;

type Terminals = Pick<Engine["terminals"], "watchScreen">;

/** The screen once. */
export async function readStyled(terminals: Terminals, id: string): Promise<StyledScreenJson> {
	const watch = await terminals.watchScreen(id, { onChange() {}, onClose() {} });
	try {
		return await watch.read();
	} finally {
		watch.close();
	}
}

/** A screen that is being watched, before the response starts. */
export interface WatchedScreen {
	/** Sends it until the terminal is closed or `gone` aborts. */
	send(to: Writable, gone: AbortSignal): Promise<void>;
	/** Instead of `send`. */
	close(): void;
}

/** Throws if the agent has no screen. */
export async function watchScreen(
	terminals: Terminals,
	keyboards: Pick<Keyboards, "watch" | "leave">,
	id: string,
	limits: StreamLimits = STREAM_LIMITS,
): Promise<WatchedScreen> {
	let hasChanged = true;
	let closed: string | null = null;
	let wake = () => {};
	const watch = await terminals.watchScreen(id, {
		onChange() {
			hasChanged = true;
			wake();
		},
		onClose(reason) {
			closed = reason;
			wake();
		},
	});

	/** Who types, if the reader does not know it yet. */
	let typing: ScreenMessages["keyboard"] | null = null;
	const seat: Watcher = {
		notify(_, holder) {
			typing = { holder };
			wake();
		},
	};

	async function send(to: Writable, gone: AbortSignal): Promise<void> {
		keyboards.watch(id, seat);
		const out = createStreamOutput(to, gone, limits);
		const beat = setInterval(() => {
			if (!out.busy()) out.write(": still here\n\n").catch(() => {});
		}, limits.heartbeatMs);
		let sent: StyledScreen | null = null;
		try {
			while (!out.ended()) {
				if (hasChanged || typing !== null) {
					if (hasChanged) {
						hasChanged = false;
						const screen = await readOrNull(watch);
						await out.write(screen === null ? "" : messageOf(sent, screen));
						sent = screen ?? sent;
					}
					const keyboard = typing;
					typing = null;
					await out.write(keyboard === null ? "" : encode("keyboard", keyboard));
					await sleep(EVERY_MS, undefined, { signal: gone }).catch(() => {});
				} else if (closed !== null) {
					await out.write(encode("closed", { reason: closed }));
					return;
				} else {
					await new Promise<void>((resolve) => {
						wake = resolve;
						out.whenOver(resolve);
					});
				}
			}
		} finally {
			clearInterval(beat);
			keyboards.leave(id, seat);
			watch.close();
		}
	}

	return { send, close: () => watch.close() };
}

/** Null if the terminal was closed in the meantime. */
async function readOrNull(watch: ScreenWatch): Promise<StyledScreen | null> {
	try {
		return await watch.read();
	} catch {
		return null;
	}
}

/** Empty if nothing has changed. */
function messageOf(before: StyledScreen | null, now: StyledScreen): string {
	if (before === now) return "";
	if (before === null || before.columns !== now.columns || before.rows !== now.rows) {
		return encode("screen", now);
	}
	const changed = now.lines.flatMap((line, row) =>
		JSON.stringify(line) === JSON.stringify(before.lines[row])
			? []
			: [[String(row), line] as const],
	);
	const { cursor, title, complete } = now;
	const rest = JSON.stringify([cursor, title, complete]);
	if (
		changed.length === 0 &&
		rest === JSON.stringify([before.cursor, before.title, before.complete])
	)
		return "";
	const rows: ChangedRowsJson = { lines: Object.fromEntries(changed), cursor, title, complete };
	return encode("rows", rows);
}

function encode<Name extends keyof ScreenMessages>(name: Name, data: ScreenMessages[Name]): string {
	return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
