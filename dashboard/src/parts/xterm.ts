/** The terminal emulator, loaded only on wide screens. */

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { INK, PALETTE } from "../colors.js";

declare const TERMINAL_STYLES: string;

export interface Emulator {
	readonly terminal: Terminal;
	/** The size that fills its place. */
	readonly propose: () => { readonly columns: number; readonly rows: number } | null;
	readonly dispose: () => void;
}

const FONT_SIZE = 13;
const FONT_SIZE_MIN = 8;

export function createEmulator(place: HTMLElement): Emulator {
	loadStyles();
	const terminal = new Terminal({
		fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
		fontSize: FONT_SIZE,
		lineHeight: 1.2,
		scrollback: 1_000,
		disableStdin: true,
		cursorBlink: false,
		// Links in the output do nothing.
		linkHandler: { activate: () => {}, allowNonHttpProtocols: false },
		theme: themeOf(place),
	});
	const fit = new FitAddon();
	terminal.loadAddon(fit);
	terminal.open(place);
	return {
		terminal,
		propose() {
			const size = fit.proposeDimensions();
			return size ? { columns: size.cols, rows: size.rows } : null;
		},
		dispose: () => terminal.dispose(),
	};
}

/** Makes the text so small that a terminal of this width fits. */
export function shrinkToFit({ terminal }: Emulator, place: HTMLElement): void {
	const width = place.clientWidth - 24;
	const size = Math.floor((width / terminal.cols / 0.605) * 10) / 10;
	terminal.options.fontSize = Math.max(FONT_SIZE_MIN, Math.min(FONT_SIZE, size));
}

function loadStyles(): void {
	if (document.querySelector(`link[href="${TERMINAL_STYLES}"]`)) return;
	const link = document.createElement("link");
	link.rel = "stylesheet";
	link.href = TERMINAL_STYLES;
	document.head.append(link);
}

function themeOf(place: HTMLElement) {
	const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
	const bright = names.map((name) => `bright${name.charAt(0).toUpperCase()}${name.slice(1)}`);
	const colors = Object.fromEntries(
		[...names, ...bright].map((name, index) => [name, PALETTE[index]]),
	);
	return {
		...colors,
		background: getComputedStyle(place).backgroundColor,
		foreground: INK,
		cursor: INK,
		selectionBackground: "#3d444b",
	};
}
