/** The slots of schedules, and why a cron expression has none. The only module that knows the cron package. */

import { Cron } from "croner";
import { intervalTimes, type SlotTimes } from "../core/schedule.js";
import type { ScheduleSpec } from "./spec.js";

/** Any day does: without years and seconds, expressions repeat within decades. */
const SOME_DAY = new Date(Date.UTC(2026, 0, 1));

/** Why this is not a cron expression with five fields and at least one slot; null if it is. */
export function cronProblem(expression: string): string | null {
	const fields = expression.trim().split(/\s+/);
	if (fields.length !== 5)
		return `it has ${fields.length} ${fields.length === 1 ? "field" : "fields"} instead of five`;
	try {
		const slot = createCron(expression, "UTC").nextRun(SOME_DAY);
		return slot === null ? "it never comes: no such date exists" : null;
	} catch (error) {
		return String((error as Error).message)
			.replace(/^CronPattern: (?:Syntax error, )?/, "")
			.replace(/\.$/, "")
			.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
	}
}

/** Whether this is the name of a time zone that the host knows. */
export function isTimezone(name: string): boolean {
	try {
		new Intl.DateTimeFormat("en", { timeZone: name });
		return true;
	} catch {
		return false;
	}
}

/** The time zone of this process. */
export function localTimezone(): string {
	return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function timesOf(
	{ cron, everyMs, timezone }: Pick<ScheduleSpec, "cron" | "everyMs" | "timezone">,
	defaultTimezone: string,
): SlotTimes {
	if (cron === null) return intervalTimes(everyMs ?? 1);
	const pattern = createCron(cron, timezone ?? defaultTimezone);
	return { next: (afterMs) => pattern.nextRun(new Date(afterMs))?.getTime() ?? null };
}

/** Paused: it must not start timers of its own. */
function createCron(expression: string, timezone: string): Cron {
	return new Cron(expression.trim(), { timezone, paused: true, mode: "5-part" });
}
