/** Commands for calls: tasks, plans and dead letters. */

import type { Command } from "commander";
import { type AddCommands, AGENT_ARGUMENT, JSON_OPTION, type Run } from "./group.js";

const SINCE_OPTION = ["--since <age>", "only the most recent ones, such as 1h"] as const;
const LIMIT_OPTION = ["-n, --lines <count>", "maximum number to list", "50"] as const;
const AGENT_OPTION = ["--agent <agent>", "only for this agent"] as const;
const WAIT_OPTION = ["--no-wait", "do not wait; print the id"] as const;
const KEY_OPTION = ["--idempotency-key <key>", "requests with the same key run only once"] as const;
const TASK_ARGUMENT = ["<task>", "the task id, or a prefix or suffix of it"] as const;
const PLAN_ARGUMENT = ["<plan>", "the plan id, or a prefix or suffix of it"] as const;

export const addCallCommands: AddCommands = (program, run) => {
	addCall(program, run);
	addTasks(program.command("tasks").description("List, show and cancel tasks."), run);
	addPlans(
		program.command("plan").description("Run and show plans, which are graphs of tasks."),
		run,
	);
	const letters = program
		.command("dead-letters")
		.description("List, show, replay and discard tasks that failed permanently.");
	addDeadLetters(letters, run);
};

const addCall: AddCommands = (program, run) => {
	program
		.command("call")
		.description("Call a call or worker agent and print its result.")
		.argument(...AGENT_ARGUMENT)
		.argument("<action>", "the action to run")
		.option("-p, --payload <json>", "the input: JSON, `@file`, or `-` for stdin")
		.option("--context <json>", "additional context, in the same formats")
		.option("--timeout <duration>", "how long one attempt may take (default: the agent's own)")
		.option("--attempts <count>", "maximum number of attempts (default: the agent's own)")
		.option("--priority <number>", "tasks with a higher priority run first (default: 0)")
		.option("--once", "do not retry an attempt that may have taken effect")
		.option(...KEY_OPTION)
		.option(...WAIT_OPTION)
		.option("--json", "print the task as JSON, also when it failed")
		.action(run(async () => (await import("../commands/call.js")).runCall));
};

function addTasks(tasks: Command, run: Run): void {
	tasks
		.command("ls")
		.alias("list")
		.description("List tasks, newest first.")
		.option(...AGENT_OPTION)
		.option("--status <status>", "only tasks with this status: queued, in_progress, succeeded, …")
		.option("--plan <plan>", "only tasks of this plan")
		.option(...SINCE_OPTION)
		.option(...LIMIT_OPTION)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/tasks.js")).runTaskList));
	tasks
		.command("show")
		.description("Show a task: its input, every attempt and its result.")
		.argument(...TASK_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/tasks.js")).runTaskShow));
	tasks
		.command("cancel")
		.description("Cancel a task and kill its running attempt.")
		.argument(...TASK_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/tasks.js")).runTaskCancel));
}

function addPlans(plans: Command, run: Run): void {
	plans
		.command("run")
		.description("Run a plan file and show its progress.")
		.argument("<file>", "the plan file")
		.option(...KEY_OPTION)
		.option(...WAIT_OPTION)
		.option("--json", "print the finished plan as JSON")
		.action(run(async () => (await import("../commands/plan.js")).runPlan));
	plans
		.command("ls")
		.alias("list")
		.description("List plans, newest first.")
		.option(
			"--status <status>",
			"only plans with this status: pending, running, succeeded, failed, …",
		)
		.option(...SINCE_OPTION)
		.option(...LIMIT_OPTION)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/plan.js")).runPlanList));
	plans
		.command("show")
		.description("Show a plan and its tasks.")
		.argument(...PLAN_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/plan.js")).runPlanShow));
	plans
		.command("cancel")
		.description("Cancel a plan and all of its unfinished tasks.")
		.argument(...PLAN_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/plan.js")).runPlanCancel));
}

function addDeadLetters(letters: Command, run: Run): void {
	letters
		.command("ls")
		.alias("list")
		.description("List dead letters that are neither replayed nor discarded, newest first.")
		.option(...AGENT_OPTION)
		.option(...SINCE_OPTION)
		.option(...LIMIT_OPTION)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/dead-letters.js")).runLetterList));
	letters
		.command("show")
		.description(
			"Show a dead letter: its input, and the error and last log lines of every attempt.",
		)
		.argument(...TASK_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/tasks.js")).runTaskShow));
	for (const [verb, description] of [
		["replay", "Run dead letters again, each as a new task."],
		["discard", "Discard dead letters. They remain visible as tasks."],
	] as const) {
		letters
			.command(verb)
			.aliases(verb === "discard" ? ["rm"] : [])
			.description(description)
			.argument("[task...]", "the task ids, or a prefix or suffix of each")
			.option("--all", "all dead letters, or all that match the other options")
			.option(...AGENT_OPTION)
			.option(...SINCE_OPTION)
			.option(...JSON_OPTION)
			.action(
				run(async () => {
					const { runLetters } = await import("../commands/dead-letters.js");
					return runLetters.bind(null, verb);
				}),
			);
	}
}
