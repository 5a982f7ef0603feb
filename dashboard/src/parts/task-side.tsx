/** One task in detail: why, its attempts with their logs, its input and its result. */

import type { TaskDetailJson } from "../../../src/http/contract/tasks.js";
import { call } from "../api.js";
import { renderTook, sentence } from "../format.js";
import { linkTo } from "../route.js";
import { useRead } from "../use-read.js";
import { AttemptBar, spanOf } from "./attempt-bar.js";
import { Button } from "./button.js";
import { ask } from "./dialog.js";
import { askDiscard, askReplay } from "./letter-actions.js";
import { Mark } from "./mark.js";
import { isOpen, mayHaveTakenEffect, reasonOf, TaskMark, TaskWords } from "./task-state.js";
import { Code, Words } from "./text.js";
import { When } from "./time.js";

export function TaskSide({ id }: { id: string }) {
	const { value, problem } = useRead(
		(signal) => call("GET /api/v1/tasks/:id", { place: [id], signal }),
		id,
		({ task }) => task === id,
	);
	const task = value.value;
	if (task === null) {
		return (
			<aside class="side" aria-label="Task">
				<p class="soft">{problem.value ?? "Reading…"}</p>
			</aside>
		);
	}
	return (
		<aside class="side" aria-label={`Task ${task.name}`}>
			<Head task={task} />
			<Attempts task={task} />
			<section>
				<h2>Input</h2>
				<Code>{renderJson(task.payload)}</Code>
			</section>
			{task.result !== undefined && (
				<section>
					<h2>Result</h2>
					<Code>{renderJson(task.result)}</Code>
				</section>
			)}
		</aside>
	);
}

const renderJson = (value: unknown) => JSON.stringify(value ?? null, null, 2);

function Head({ task }: { task: TaskDetailJson }) {
	const dead = task.status === "dead_lettered" && !task.discarded && task.replayed_as === null;
	return (
		<section>
			<header>
				<span class="cell-mark">
					<TaskMark task={task} />
					<b>
						<Words>{`${task.agent} ${task.action}`}</Words>
					</b>
				</span>
				<span class="faint">{task.ended_at !== null && <When at={task.ended_at} />}</span>
			</header>
			<p class="soft">
				<TaskWords task={task} />. <Words>{reasonOf(task)}</Words>
			</p>
			{mayHaveTakenEffect(task) && dead && (
				<p class="warn">
					<b>It may have taken effect.</b> Look at the log before you replay it:{" "}
					<Words>{task.action}</Words> would run a second time.
				</p>
			)}
			{task.replayed_as !== null && <p class="soft">Replayed as task {task.replayed_as}.</p>}
			{task.discarded && <p class="soft">Discarded.</p>}
			<div class="buttons">
				{dead && (
					<>
						<Button do={() => askReplay([task])}>Replay…</Button>
						<Button look="danger" do={() => askDiscard([task])}>
							Discard…
						</Button>
					</>
				)}
				{isOpen(task) && (
					<Button look="danger" do={() => askCancel(task)}>
						Cancel…
					</Button>
				)}
				{task.name !== "root" && (
					<a class="link" href={linkTo("plans", task.plan_id)}>
						Plan
					</a>
				)}
			</div>
		</section>
	);
}

function askCancel({ task_id: id, agent, action }: TaskDetailJson): undefined {
	return ask({
		title: `Cancel ${agent} ${action}?`,
		text: "Its running attempt is killed with all processes that it started. Tasks that wait for it are cancelled too.",
		safe: "Keep running",
		verb: "Cancel it",
		failed: "Not cancelled",
		do: async () => {
			await call("POST /api/v1/tasks/:id/cancel", { place: [id] });
			return `${agent} ${action} is cancelled.`;
		},
	});
}

function Attempts({ task }: { task: TaskDetailJson }) {
	if (task.attempts.length === 0) return null;
	return (
		<section>
			<header>
				<h2>
					{task.attempts.length === 1 ? "Attempt" : "Attempts"} {task.attempts.length} of{" "}
					{task.max_attempts}
				</h2>
			</header>
			<AttemptBar task={task} {...spanOf([task])} width={340} />
			<ul class="attempts">
				{[...task.attempts].reverse().map(({ n, error, started_at, ended_at, log }) => (
					<li key={n}>
						<div class="head">
							<span class="cell-mark">
								<Mark shape={error ? "octagon_cross" : "check"} tone={error ? "red" : "green"} />
								<span>
									<b>{n}</b> <Words>{error ? sentence(error.message) : "Succeeded"}</Words>
								</span>
							</span>
							<span class="faint num">
								{renderTook(Date.parse(ended_at) - Date.parse(started_at))}
							</span>
						</div>
						{log !== undefined && log.trim() !== "" && <Code>{log.trimEnd()}</Code>}
					</li>
				))}
			</ul>
		</section>
	);
}
