/** The attempts of a task on a time axis: a bar ran, a red tick failed, hatched is a delay. */

import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { now } from "../clock.js";
import { countOf } from "../format.js";
import { Hatch } from "./day-strip.js";
import { isOpen } from "./task-state.js";

interface Props {
	readonly task: TaskJson;
	readonly fromMs: number;
	readonly toMs: number;
	readonly width: number;
}

const HEIGHT = 20;

export function AttemptBar({ task, fromMs, toMs, width }: Props) {
	const scale = (ms: number) =>
		Math.min(Math.max((ms - fromMs) / Math.max(toMs - fromMs, 1), 0), 1) * width;
	const { attempts, status, next_attempt_at: next } = task;
	const nowMs = now.value;
	const lastEnd = attempts.at(-1)?.ended_at;
	const begun = lastEnd === undefined ? Date.parse(task.created_at) : Date.parse(lastEnd);
	const bars = attempts.map(({ n, started_at, ended_at, error }) => ({
		n,
		x: scale(Date.parse(started_at)),
		end: scale(Date.parse(ended_at)),
		failed: error !== undefined,
	}));
	const id = `h${task.task_id}`;
	return (
		<svg
			width={width}
			height={HEIGHT}
			role="img"
			aria-label={`${countOf(attempts.length, "attempt")} finished${isOpen(task) ? ", not over" : ""}`}
		>
			<Hatch id={id} />
			{bars.map(({ n, x, end, failed }, index) => (
				<g key={n}>
					{index > 0 && x > (bars[index - 1]?.end ?? x) && (
						<rect
							x={bars[index - 1]?.end}
							y="6"
							height="8"
							width={x - (bars[index - 1]?.end ?? x)}
							fill={`url(#${id})`}
						/>
					)}
					<rect
						class={failed ? "ran" : "worked"}
						x={x}
						y="6"
						height="8"
						width={Math.max(end - x, 2)}
					/>
					{failed && <path class="tick failed" d={`M${end - 1} 2h2v16h-2Z`} />}
				</g>
			))}
			{isOpen(task) && nowMs < toMs - 1 && <path class="now-line" d={`M${scale(nowMs)} 1v18`} />}
			{status === "in_progress" && (
				<rect
					class="worked"
					x={scale(begun)}
					y="6"
					height="8"
					width={Math.max(scale(nowMs) - scale(begun), 2)}
				/>
			)}
			{status === "retried" && next !== null && (
				<rect
					x={scale(begun)}
					y="6"
					height="8"
					width={Math.max(scale(Date.parse(next)) - scale(begun), 2)}
					fill={`url(#${id})`}
				/>
			)}
		</svg>
	);
}

/** From the first start to the last end, or now. */
export function spanOf(tasks: readonly TaskJson[]): {
	readonly fromMs: number;
	readonly toMs: number;
} {
	const starts = tasks.map(({ created_at: at }) => Date.parse(at));
	const ends = tasks.map(({ ended_at: at }) => (at === null ? now.value : Date.parse(at)));
	const nexts = tasks.flatMap(({ next_attempt_at: at }) => (at === null ? [] : [Date.parse(at)]));
	return { fromMs: Math.min(...starts), toMs: Math.max(...ends, ...nexts) };
}
