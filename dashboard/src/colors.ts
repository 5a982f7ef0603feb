/** The colours of a terminal, which is dark in both themes. */

export const PALETTE = [
	...["#2b2f34", "#ff7a70", "#6fcf97", "#f0b03c", "#8bb8ff", "#d5a6ff", "#62d0d8", "#d7dbdf"],
	...["#8a939c", "#ff9d95", "#8fe0b0", "#f5c162", "#aecdff", "#e3c4ff", "#8be3ea", "#ffffff"],
] as const;

export const INK = "#d7dbdf";
export const GROUND = "#15181b";

/** A colour of the palette of 256, or as it is. */
export function colorOf(color: number | string | undefined): string | undefined {
	if (typeof color !== "number") return color;
	if (color < 16) return PALETTE[color];
	if (color >= 232) {
		const grey = 8 + (color - 232) * 10;
		return `rgb(${grey} ${grey} ${grey})`;
	}
	const steps = [0, 95, 135, 175, 215, 255];
	const at = color - 16;
	return `rgb(${steps[Math.floor(at / 36)]} ${steps[Math.floor(at / 6) % 6]} ${steps[at % 6]})`;
}
