/** The day of a time in the host's calendar. */

import type { Day } from "../engine/limits/usage-book.js";

export function localDay(wallMs: number): Day {
	const date = new Date(wallMs);
	const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
	const two = (number: number) => String(number).padStart(2, "0");
	return {
		day: `${year}-${two(month + 1)}-${two(day)}`,
		endsAtMs: new Date(year, month, day + 1).getTime(),
	};
}
