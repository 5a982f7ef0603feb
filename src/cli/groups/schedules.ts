/** Commands for schedules. */

import { type AddCommands, JSON_OPTION } from "./group.js";

const SCHEDULE_ARGUMENT = ["<schedule>", "the schedule, as `project:name` or its name"] as const;
const SCHEDULES_ARGUMENT = [
	"<schedule...>",
	"schedules, or projects (all of their schedules)",
] as const;

export const addScheduleCommands: AddCommands = (program, run) => {
	const schedule = program
		.command("schedule")
		.description("List, show, run, pause and resume schedules.");
	schedule
		.command("ls")
		.alias("list")
		.description("List schedules, their next slots and the outcome of the last ones.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/schedule.js")).runScheduleList));
	schedule
		.command("show")
		.description("Show a schedule and the outcomes of its last slots.")
		.argument(...SCHEDULE_ARGUMENT)
		.option("-n, --lines <count>", "how many slots to list", "20")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/schedule.js")).runScheduleShow));
	schedule
		.command("run")
		.description("Fire a schedule now.")
		.argument(...SCHEDULE_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/schedule.js")).runScheduleRun));
	schedule
		.command("pause")
		.description("Pause schedules: no slot fires until they are resumed.")
		.argument(...SCHEDULES_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/schedule.js")).runSchedulePause));
	schedule
		.command("resume")
		.description("Resume paused schedules with their next slots.")
		.argument(...SCHEDULES_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/schedule.js")).runScheduleResume));
};
