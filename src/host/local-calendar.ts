/** The calendar of this host, in its own time zone, and the offsets of other zones. */

import type { Calendar } from "../ports/clock.js";

const MINUTE_MS = 60_000;

export const localCalendar: Calendar = {
	dayOf(wallMs) {
		const date = new Date(wallMs);
		const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
		const two = (number: number) => String(number).padStart(2, "0");
		return {
			day: `${year}-${two(month + 1)}-${two(day)}`,
			endsAtMs: new Date(year, month, day + 1).getTime(),
		};
	},
	minuteOfDay(wallMs) {
		const at = new Date(wallMs);
		return at.getHours() * 60 + at.getMinutes();
	},
};

/** The UTC offset of a time zone in minutes, null for an unknown one. Printed times name the zone, or none for this host's. */
export function offsetOfZone(zone: string | null, atMs: number): number | null {
	if (zone === null) return -new Date(atMs).getTimezoneOffset();
	try {
		const format = new Intl.DateTimeFormat("en-US", {
			timeZone: zone,
			hourCycle: "h23",
			year: "numeric",
			month: "numeric",
			day: "numeric",
			hour: "numeric",
			minute: "numeric",
		});
		const parts = Object.fromEntries(
			format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]),
		);
		const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
		const localMs = Date.UTC(year, month - 1, day, hour, minute);
		// The parts have no seconds: compared with a time with seconds, the offset would be a minute too small.
		return Math.round((localMs - Math.floor(atMs / MINUTE_MS) * MINUTE_MS) / MINUTE_MS);
	} catch {
		// Unknown zone.
		return null;
	}
}
