/** The minute of the day in local time, for quiet hours. */

export function minuteOfDay(wallMs: number): number {
	const at = new Date(wallMs);
	return at.getHours() * 60 + at.getMinutes();
}
