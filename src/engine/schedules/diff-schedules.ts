/** The changes of the schedules in a fleet file. */

import type { FleetSpec, ScheduleSpec } from "../../config/spec.js";
import { ReeveError } from "../../core/errors.js";
import type { Schedule } from "./slot-book.js";

export interface ScheduleChange {
	readonly id: string;
	readonly change: "add" | "change" | "remove" | "keep";
}

/** One entry per schedule: those of the fleet in file order, then the removed ones. */
export function diffSchedules(
	recorded: readonly Schedule[],
	{ file, schedules = [] }: FleetSpec,
): readonly ScheduleChange[] {
	const known = new Map(recorded.map((each) => [each.id, each]));
	const changes = schedules.map((spec): ScheduleChange => {
		const { id } = spec;
		const before = known.get(id);
		if (before === undefined) return { id, change: "add" };
		if (before.fleetFile !== file) {
			const message = `schedule ${id} is already defined in ${before.fleetFile}`;
			throw new ReeveError("schedule_taken", message);
		}
		return { id, change: isSame(before.spec, spec) ? "keep" : "change" };
	});
	const stay = new Set(schedules.map(({ id }) => id));
	const gone = recorded.filter(({ id, fleetFile }) => fleetFile === file && !stay.has(id));
	return [...changes, ...gone.map(({ id }): ScheduleChange => ({ id, change: "remove" }))];
}

/** Whether the slots of two schedules come at the same times. */
export function hasSameTimes(a: ScheduleSpec, b: ScheduleSpec): boolean {
	return a.cron === b.cron && a.everyMs === b.everyMs && a.timezone === b.timezone;
}

function isSame(a: ScheduleSpec, b: ScheduleSpec): boolean {
	return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** Stored data has its keys in any order. */
function sorted(spec: ScheduleSpec): unknown {
	const inOrder = (object: object) => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
	return [inOrder(spec.action), inOrder({ ...spec, action: null })];
}
