/** The day of a moment in the host's own calendar. */

import type { Day } from "../engine/usage-book.js";

export function localDay(wallMs: number): Day {
	const date = new Date(wallMs);
	const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
	const two = (number: number) => String(number).padStart(2, "0");
	return {
		day: `${year}-${two(month + 1)}-${two(day)}`,
		endsAtMs: new Date(year, month, day + 1).getTime(),
	};
}
