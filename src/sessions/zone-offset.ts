/** The UTC offset of a time zone: printed times name the zone, or none for this host's. */

const MINUTE_MS = 60_000;

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
		// The parts have no seconds: compared with a time with seconds, the offset would be a minute too
		// small.
		return Math.round((localMs - Math.floor(atMs / MINUTE_MS) * MINUTE_MS) / MINUTE_MS);
	} catch {
		// Unknown zone.
		return null;
	}
}
