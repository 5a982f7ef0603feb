/** Commands about calls: tasks, plans and dead letters. */

import type { Command } from "commander";
import { type AddCommands, AGENT_ARGUMENT, JSON_OPTION, type Run } from "./group.js";

const SINCE_OPTION = ["--since <age>", "only those of the last while, such as 1h"] as const;
const LIMIT_OPTION = ["-n, --lines <count>", "how many at most", "50"] as const;
const AGENT_OPTION = ["--agent <agent>", "only of this agent"] as const;
const WAIT_OPTION = ["--no-wait", "only hand it over, and print its id"] as const;
const KEY_OPTION = [
	"--idempotency-key <key>",
	"the same key again is the same request, however often it is sent",
] as const;
const TASK_ARGUMENT = ["<task>", "the task's id"] as const;
const PLAN_ARGUMENT = ["<plan>", "the plan's id"] as const;

export const addCallCommands: AddCommands = (program, run) => {
	addCall(program, run);
	addTasks(program.command("tasks").description("Look at tasks, and cancel them."), run);
	addPlans(program.command("plan").description("Run graphs of tasks, and look at them."), run);
	const letters = program
		.command("dead-letters")
		.description("Tasks that failed for good: look at them, try them again, give them up.");
	addDeadLetters(letters, run);
};

const addCall: AddCommands = (program, run) => {
	program
		.command("call")
		.description("Ask a call or worker agent for something; prints what it answers.")
		.argument(...AGENT_ARGUMENT)
		.argument("<action>", "what it is to do")
		.option("-p, --payload <json>", "what it is given: JSON, `@file`, or `-` for stdin")
		.option("--context <json>", "what else it should know, in the same ways")
		.option("--timeout <duration>", "how long one attempt may take (default: the agent's own)")
		.option("--attempts <count>", "how often it is tried at most (default: the agent's own)")
		.option("--priority <number>", "higher ones go first (default: 0)")
		.option("--once", "never try again what may have taken effect")
		.option(...KEY_OPTION)
		.option(...WAIT_OPTION)
		.option("--json", "print the task as JSON, also when it failed")
		.action((agent, action, options) =>
			run(async (output, env) => {
				const { runCall } = await import("../commands/call.js");
				return runCall(agent, action, options, output, env);
			}),
		);
};

function addTasks(tasks: Command, run: Run): void {
	tasks
		.command("ls")
		.description("List tasks, newest first.")
		.option(...AGENT_OPTION)
		.option("--status <status>", "only those that are queued, in_progress, succeeded, …")
		.option("--plan <plan>", "only of this plan")
		.option(...SINCE_OPTION)
		.option(...LIMIT_OPTION)
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runTaskList } = await import("../commands/tasks.js");
				return runTaskList(options, output, env);
			}),
		);
	tasks
		.command("show")
		.description("Show a task: what it was given, every attempt, what it answered.")
		.argument(...TASK_ARGUMENT)
		.option(...JSON_OPTION)
		.action((task, options) =>
			run(async (output, env) => {
				const { runTaskShow } = await import("../commands/tasks.js");
				return runTaskShow(task, options, output, env);
			}),
		);
	tasks
		.command("cancel")
		.description("Cancel a task; what runs for it is ended.")
		.argument(...TASK_ARGUMENT)
		.option(...JSON_OPTION)
		.action((task, options) =>
			run(async (output, env) => {
				const { runTaskCancel } = await import("../commands/tasks.js");
				return runTaskCancel(task, options, output, env);
			}),
		);
}

function addPlans(plans: Command, run: Run): void {
	plans
		.command("run")
		.description("Run the plan of a file and show how it goes.")
		.argument("<file>", "the plan file")
		.option(...KEY_OPTION)
		.option(...WAIT_OPTION)
		.option("--json", "print the plan as JSON when it has ended")
		.action((file, options) =>
			run(async (output, env) => {
				const { runPlan } = await import("../commands/plan.js");
				return runPlan(file, options, output, env);
			}),
		);
	plans
		.command("ls")
		.description("List plans, newest first.")
		.option("--status <status>", "only those that are pending, running, succeeded, failed, …")
		.option(...SINCE_OPTION)
		.option(...LIMIT_OPTION)
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runPlanList } = await import("../commands/plan.js");
				return runPlanList(options, output, env);
			}),
		);
	plans
		.command("show")
		.description("Show a plan and its tasks.")
		.argument(...PLAN_ARGUMENT)
		.option(...JSON_OPTION)
		.action((plan, options) =>
			run(async (output, env) => {
				const { runPlanShow } = await import("../commands/plan.js");
				return runPlanShow(plan, options, output, env);
			}),
		);
	plans
		.command("cancel")
		.description("Cancel a plan with everything of it that has not ended.")
		.argument(...PLAN_ARGUMENT)
		.option(...JSON_OPTION)
		.action((plan, options) =>
			run(async (output, env) => {
				const { runPlanCancel } = await import("../commands/plan.js");
				return runPlanCancel(plan, options, output, env);
			}),
		);
}

function addDeadLetters(letters: Command, run: Run): void {
	letters
		.command("ls")
		.description("List those that wait for somebody, newest first.")
		.option(...AGENT_OPTION)
		.option(...SINCE_OPTION)
		.option(...LIMIT_OPTION)
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runLetterList } = await import("../commands/dead-letters.js");
				return runLetterList(options, output, env);
			}),
		);
	letters
		.command("show")
		.description("Show one: its input, every attempt's error and the end of its log.")
		.argument(...TASK_ARGUMENT)
		.option(...JSON_OPTION)
		.action((task, options) =>
			run(async (output, env) => {
				const { runTaskShow } = await import("../commands/tasks.js");
				return runTaskShow(task, options, output, env);
			}),
		);
	for (const [verb, description] of [
		["replay", "Try them again, each as a new task."],
		["discard", "Give them up; they can still be looked at as tasks."],
	] as const) {
		letters
			.command(verb)
			.description(description)
			.argument("[task...]", "their ids")
			.option("--all", "all of them, or all that the other options choose")
			.option(...AGENT_OPTION)
			.option(...SINCE_OPTION)
			.option(...JSON_OPTION)
			.action((tasks, options) =>
				run(async (output, env) => {
					const { runLetters } = await import("../commands/dead-letters.js");
					return runLetters(verb, tasks, options, output, env);
				}),
			);
	}
}
