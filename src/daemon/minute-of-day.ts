/** The minute of the day by this host's clock on the wall: quiet hours are written in it. */

export function minuteOfDay(wallMs: number): number {
	const at = new Date(wallMs);
	return at.getHours() * 60 + at.getMinutes();
}
