/**
 * Durations and sizes as users write them (`500ms`, `30s`, `2GiB`) and as numbers (milliseconds,
 * bytes). Whole numbers with one unit only, so each value has one spelling.
 */

const DURATION_UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const SIZE_UNITS_BYTES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;

export const DURATION_PATTERN = /^\d+(ms|s|m|h|d)$/;
export const SIZE_PATTERN = /^\d+(B|KiB|MiB|GiB|TiB)$/;

/** `"30s"` → 30000, or null if the text is not a duration or too large for an exact number. */
export function parseDuration(text: string): number | null {
	return parseWithUnit(text, DURATION_PATTERN, DURATION_UNITS_MS);
}

/** `"2GiB"` → 2147483648, or null if the text is not a size or too large for an exact number. */
export function parseSize(text: string): number | null {
	return parseWithUnit(text, SIZE_PATTERN, SIZE_UNITS_BYTES);
}

function parseWithUnit(
	text: string,
	pattern: RegExp,
	units: Readonly<Record<string, number>>,
): number | null {
	const unit = pattern.exec(text)?.[1];
	if (unit === undefined) return null;
	const value = Number.parseInt(text, 10) * (units[unit] as number);
	return Number.isSafeInteger(value) ? value : null;
}

/** The largest unit that divides the value: 120000 → `2m`, 90000 → `90s`. Parses back to the same value. */
export function renderDuration(ms: number): string {
	// One minute is written as `60s`, the usual unit for such windows.
	if (ms === DURATION_UNITS_MS.m) return "60s";
	return renderWithUnit(ms, DURATION_UNITS_MS, "0s");
}

/** An elapsed time for display: `0s`, `527ms`, `16.9s`, `4m 20s`, `2h 5m`, `3d 4h`. */
export function renderElapsed(ms: number): string {
	const wholeMs = Math.round(ms);
	if (wholeMs < 1_000) return wholeMs === 0 ? "0s" : `${wholeMs}ms`;
	const tenths = Math.round(wholeMs / 100);
	if (tenths < 600) return `${tenths / 10}s`;
	const seconds = Math.round(wholeMs / 1_000);
	if (seconds < 3_600) return twoUnits(seconds, 60, "m", "s");
	const minutes = Math.round(seconds / 60);
	if (minutes < 1_440) return twoUnits(minutes, 60, "h", "m");
	return twoUnits(Math.round(minutes / 60), 24, "d", "h");
}

function twoUnits(value: number, size: number, large: string, small: string): string {
	const rest = value % size;
	return `${Math.floor(value / size)}${large}${rest === 0 ? "" : ` ${rest}${small}`}`;
}

/** The largest unit that divides the value: 2147483648 → `2GiB`. Parses back to the same value. */
export function renderSize(bytes: number): string {
	return renderWithUnit(bytes, SIZE_UNITS_BYTES, "0B");
}

function renderWithUnit(
	value: number,
	units: Readonly<Record<string, number>>,
	zero: string,
): string {
	const rounded = Math.round(value);
	if (rounded === 0) return zero;
	const [unit, size] = Object.entries(units).findLast(([, each]) => rounded % each === 0) as [
		string,
		number,
	];
	return `${rounded / size}${unit}`;
}

/** The start of a reason while a restart is planned. The CLI replaces it with a countdown. */
export function restartingAt(isoTime: string): string {
	return `restarting at ${isoTime}; `;
}
