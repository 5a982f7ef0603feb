/** Tasks and plans as text and marks. */

import type { PlanJson } from "../../../src/http/contract/plans.js";
import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { sentence, visibleLine } from "../format.js";
import { Mark, type MarkProps } from "./mark.js";
import { Until } from "./time.js";

const MARKS: Readonly<Record<TaskJson["status"], MarkProps>> = {
	queued: { shape: "dots", tone: "blue" },
	dispatched: { shape: "dots", tone: "blue" },
	in_progress: { shape: "disc", tone: "green" },
	retried: { shape: "arrow", tone: "blue" },
	succeeded: { shape: "check", tone: "green" },
	dead_lettered: { shape: "octagon_cross", tone: "red" },
	cancelled: { shape: "square_stroke", tone: "grey" },
};

const WORDS: Readonly<Record<TaskJson["status"], string>> = {
	queued: "Waits",
	dispatched: "Starts",
	in_progress: "Working",
	retried: "Tries again",
	succeeded: "Succeeded",
	dead_lettered: "Failed for good",
	cancelled: "Cancelled",
};

export const TaskMark = ({ task, size = 16 }: { task: TaskJson; size?: number }) => (
	<Mark {...MARKS[task.status]} size={size} />
);

export function TaskWords({ task }: { task: TaskJson }) {
	const { status, attempts, max_attempts: max, next_attempt_at: next, depends_on: needs } = task;
	const attempt = `attempt ${Math.min(attempts.length + 1, max)} of ${max}`;
	if (status === "retried" && next !== null) {
		return (
			<>
				Tries again <Until at={next} />, {attempt}
			</>
		);
	}
	if (status === "in_progress" && max > 1) return <>Working, {attempt}</>;
	if (status === "queued" && needs.length > 0) {
		return (
			<>Waits for {needs.length > 2 ? `${needs.length} tasks` : visibleLine(needs.join(" and "))}</>
		);
	}
	return <>{WORDS[status]}</>;
}

export const isOpen = ({ status }: TaskJson) =>
	status !== "succeeded" && status !== "dead_lettered" && status !== "cancelled";

/** Whether it may have done something before it failed, so that a replay would do it twice. */
export function mayHaveTakenEffect({ may_have_run: mayHaveRun, idempotent }: TaskJson): boolean {
	return mayHaveRun && !idempotent;
}

export function reasonOf({ error, reason }: TaskJson): string {
	return sentence(visibleLine(error?.message ?? reason));
}

const PLAN_MARKS: Readonly<Record<PlanJson["status"], MarkProps>> = {
	draft: { shape: "dots", tone: "grey" },
	pending: { shape: "dots", tone: "blue" },
	running: { shape: "disc", tone: "green" },
	succeeded: { shape: "check", tone: "green" },
	failed: { shape: "octagon_cross", tone: "red" },
	cancelled: { shape: "square_stroke", tone: "grey" },
};

export const PlanMark = ({ plan }: { plan: PlanJson }) => <Mark {...PLAN_MARKS[plan.status]} />;
