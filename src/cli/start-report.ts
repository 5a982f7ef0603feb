/** Reports of starts, shared by `up`, `restart`, `reload`, `resume` and `answer`. */

import type { StartedJson } from "../http/contract/agents.js";
import type { Output } from "./output.js";
import type { Cell } from "./table.js";

type StartOutcome = StartedJson["outcome"];

export const START_WORDS: Readonly<Record<StartOutcome, string>> = {
	started: "started",
	already_running: "already running",
	failed: "failed",
	halted: "halted",
	stopped: "stopped",
	over_budget: "over budget",
	hibernated: "hibernated",
	not_gone: "not started",
	waiting: "waiting",
	old_settings: "already running",
};

export function isFailedStart(outcome: StartOutcome): boolean {
	return outcome === "failed" || outcome === "halted" || outcome === "not_gone";
}

export function startCell({ outcome }: StartedJson, { colors }: Output): Cell {
	const isDone = outcome === "started" || outcome === "already_running";
	const paint = isFailedStart(outcome) ? colors.red : isDone ? colors.green : colors.yellow;
	return { text: START_WORDS[outcome], paint };
}

/** The pid of the started agent, or why it did not start. */
export function startDetail({ outcome, pid, reason }: StartedJson): string {
	return outcome === "started" && pid !== null ? `pid ${pid}` : reason;
}

const HINTS: readonly (readonly [StartOutcome, (id: string, reason: string) => string])[] = [
	[
		"failed",
		(id) =>
			`\`reeve explain ${id}\` shows what happens next; \`reeve up ${id}\` starts it after a fix`,
	],
	[
		"halted",
		(id, reason) =>
			reason.startsWith("cannot start: ")
				? `fix the cause, then \`reeve up ${id}\` starts it`
				: `\`reeve explain ${id}\` shows why; \`reeve resume ${id}\` starts it again`,
	],
	["over_budget", (id) => `\`reeve resume ${id}\` lifts its budget for today`],
	["not_gone", (id) => `\`reeve explain ${id}\` shows the processes that are still alive`],
	["waiting", (id) => `\`reeve answer ${id} fresh|continue|stop\` decides what happens next`],
	["old_settings", () => "`reeve reload` restarts it with the settings in the file"],
];

/** One hint for each kind of outcome that needs one. */
export function printStartHints(starts: readonly StartedJson[], output: Output): void {
	for (const [outcome, hint] of HINTS) {
		const hit = starts.find((start) => start.outcome === outcome && !waitsByItself(start));
		if (hit !== undefined) output.note(`hint: ${hint(hit.id, hit.reason)}`);
	}
}

/** It waits for another agent, an account or another host, and has no question for the operator. */
function waitsByItself({ outcome, reason }: StartedJson): boolean {
	return outcome === "waiting" && !reason.includes("waiting for the operator");
}
