/**
 * The terminal of an agent on a wide screen. Watching never resizes it; with the keyboard taken, it gets the size of
 * its place, as with `reeve attach`.
 */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { holderWords, type Keyboard } from "../keyboard.js";
import { openTerminal, type TerminalSocket } from "../terminal-socket.js";
import { announce } from "./announcer.js";
import type { Emulator } from "./xterm.js";

export interface TerminalState {
	/** `120 × 36`; empty before the first screen. */
	readonly size: Signal<string>;
	readonly mine: Signal<boolean>;
	/** Who types; null if no client does. */
	readonly holder: Signal<Keyboard | null>;
	/** Why it is not connected; null while it is. */
	readonly closed: Signal<string | null>;
	/** Whether control was asked for, also from another client. */
	readonly wanted: Signal<"watch" | "type" | "take_over">;
	readonly spoken: Signal<boolean>;
}

export function useTerminalState(): TerminalState {
	return {
		size: useSignal(""),
		mine: useSignal(false),
		holder: useSignal<Keyboard | null>(null),
		closed: useSignal<string | null>(null),
		wanted: useSignal<"watch" | "type" | "take_over">("watch"),
		spoken: useSignal(false),
	};
}

const GIVE_BACK = "]";
const TRY_AGAIN_MS = 2_000;

export function TerminalView({
	id,
	run,
	state,
}: {
	id: string;
	run: string;
	state: TerminalState;
}) {
	const place = useRef<HTMLDivElement>(null);
	const { wanted, mine, holder, size, closed, spoken } = state;
	const emulator = useRef<Emulator | null>(null);
	const turn = useSignal(0);
	useEffect(() => {
		let socket: TerminalSocket | null = null;
		let over = false;
		let retry = 0;
		let stopInput = () => {};
		const want = wanted.value;
		mine.value = false;
		void import("./xterm.js").then(({ createEmulator, shrinkToFit }) => {
			const element = place.current;
			if (over || element === null) return;
			emulator.current ??= createEmulator(element);
			const { terminal } = emulator.current;
			terminal.options.fontSize = 13;
			const proposed = want === "watch" ? null : emulator.current.propose();
			let isFirst = true;
			socket = openTerminal(
				id,
				{ want, answers: true, ...(proposed && { size: proposed }) },
				{
					onSnapshot(columns, rows) {
						closed.value = null;
						terminal.reset();
						terminal.resize(columns, rows);
						size.value = `${columns} × ${rows}`;
						if (emulator.current !== null) shrinkToFit(emulator.current, element);
					},
					onBytes: (bytes) => terminal.write(bytes),
					onWriter(you, by) {
						// Before it takes over, the client learns who has the keyboard.
						const isWaiting = isFirst && want === "take_over";
						isFirst = false;
						mine.value = you;
						holder.value = by;
						terminal.options.disableStdin = !you;
						if (you) terminal.focus();
						if (you || isWaiting || want === "watch") return;
						wanted.value = "watch";
						if (by !== null) announce(holderWords(by), true);
					},
					onClose(reason) {
						mine.value = false;
						terminal.options.disableStdin = true;
						closed.value = reason;
						holder.value = null;
						wanted.value = "watch";
						retry = setTimeout(() => {
							turn.value += 1;
						}, TRY_AGAIN_MS);
					},
				},
			);
			const input = terminal.onData((text) => {
				if (mine.value) socket?.write(text);
			});
			stopInput = () => input.dispose();
			terminal.attachCustomKeyEventHandler((event) => {
				if (event.ctrlKey && event.key === GIVE_BACK) {
					wanted.value = "watch";
					terminal.blur();
					return false;
				}
				return true;
			});
		});
		return () => {
			over = true;
			clearTimeout(retry);
			stopInput();
			socket?.close();
		};
	}, [id, run, wanted.value, turn.value]);
	useEffect(
		() => () => {
			emulator.current?.dispose();
			emulator.current = null;
		},
		[id],
	);
	useEffect(() => {
		if (emulator.current !== null)
			emulator.current.terminal.options.screenReaderMode = spoken.value;
	}, [spoken.value]);
	return <div class="term-box" ref={place} />;
}
