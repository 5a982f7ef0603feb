/** A QR code for a terminal: two rows of it per line of text, with the quiet zone that scanners need. */

import { encode } from "uqr";

const QUIET_ZONE = 4;

/** As lines of half blocks. Dark parts are drawn in black on white, whatever the colours of the terminal. */
export function renderQrCode(text: string): readonly string[] {
	const { data, size } = encode(text, { ecc: "L", border: QUIET_ZONE });
	const lines: string[] = [];
	for (let row = 0; row < size; row += 2) {
		const [upper = [], lower = []] = [data[row], data[row + 1]];
		const cells = upper.map((dark, column) => blockOf(dark, lower[column] ?? false));
		lines.push(`\x1b[30;47m${cells.join("")}\x1b[0m`);
	}
	return lines;
}

function blockOf(upper: boolean, lower: boolean): string {
	if (upper) return lower ? "█" : "▀";
	return lower ? "▄" : " ";
}
