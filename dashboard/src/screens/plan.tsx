/** A plan: its graph, the attempts of each task on one axis, and the selected task. Graph and table say the same. */

import type { PlanDetailJson } from "../../../src/http/contract/plans.js";
import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { call } from "../api.js";
import { renderTook, sentence } from "../format.js";
import { AttemptBar, spanOf } from "../parts/attempt-bar.js";
import { Button } from "../parts/button.js";
import { ask } from "../parts/dialog.js";
import { Head } from "../parts/head.js";
import { TaskSide } from "../parts/task-side.js";
import { PlanMark, TaskMark, TaskWords } from "../parts/task-state.js";
import { Words } from "../parts/text.js";
import { Age, Until } from "../parts/time.js";
import { edgePath, layOut, NODE } from "../plan-layout.js";
import { go, linkTo, place } from "../route.js";
import { useRead } from "../use-read.js";
import { TaskTabs } from "./tasks.js";
import { tookOf } from "./tasks-parts.js";

export function PlanScreen() {
	const [id = "", picked] = place.value.rest;
	const { value, problem } = useRead(
		(signal) => call("GET /api/v1/plans/:id", { place: [id], signal }),
		id,
		({ plan }) => plan === id,
	);
	const plan = value.value;
	if (plan === null) {
		return (
			<main id="main" class="sheet">
				<h1 class="soft">{problem.value ?? "Reading the plan…"}</h1>
			</main>
		);
	}
	const chosen =
		plan.tasks.find(({ name }) => name === picked) ??
		plan.tasks.find(({ status }) => status !== "succeeded");
	const pick = (task: TaskJson) => go(linkTo("plans", id, task.name));
	return (
		<div class="tasks-page">
			<TaskTabs current="plans" />
			<div class="with-side">
				<main id="main" class="sheet">
					<Title plan={plan} />
					<Graph plan={plan} chosen={chosen?.name} pick={pick} />
					<PlanTable plan={plan} chosen={chosen?.name} pick={pick} />
				</main>
				{chosen !== undefined && <TaskSide id={chosen.task_id} />}
			</div>
		</div>
	);
}

function Title({ plan }: { plan: PlanDetailJson }) {
	const { name, status, created_at: from, ended_at: to, tasks } = plan;
	const done = tasks.filter((task) => task.status === "succeeded").length;
	const isOver = to !== null;
	return (
		<header class="head">
			<div class="title-line">
				<h1>
					<Words>{name}</Words>
				</h1>
				<span class="cell-mark">
					<PlanMark plan={plan} />
					<span>
						<b>{sentence(status)}</b>
						<span class="soft">
							{" · "}
							{isOver ? renderTook(Date.parse(to) - Date.parse(from)) : <Age since={from} />} ·{" "}
							{done} of {tasks.length} done
						</span>
					</span>
				</span>
			</div>
			{!isOver && (
				<Button
					look="danger"
					do={() =>
						ask({
							title: `Cancel the plan ${name}?`,
							text: "Running tasks are killed with all processes that they started. Finished ones keep their results.",
							safe: "Keep running",
							verb: "Cancel the plan",
							failed: "Not cancelled",
							do: async () => {
								await call("POST /api/v1/plans/:id/cancel", { place: [plan.plan_id] });
								return `The plan ${name} is cancelled.`;
							},
						})
					}
				>
					Cancel plan…
				</Button>
			)}
		</header>
	);
}

interface Shared {
	readonly plan: PlanDetailJson;
	readonly chosen: string | undefined;
	readonly pick: (task: TaskJson) => void;
}

const LOOKS: Readonly<Record<TaskJson["status"], string>> = {
	queued: "open",
	dispatched: "open",
	in_progress: "working",
	retried: "again",
	succeeded: "",
	dead_lettered: "dead",
	cancelled: "open",
};

function Graph({ plan, chosen, pick }: Shared) {
	const { spots, width, height } = layOut(plan.tasks);
	const byName = new Map(plan.tasks.map((task) => [task.name, task]));
	return (
		<section class="graph" aria-label="The tasks of the plan">
			<svg width={width + 8} height={height + 8} viewBox={`-4 -4 ${width + 8} ${height + 8}`}>
				<title>The tasks of the plan and their dependencies</title>
				{plan.tasks.flatMap((task) =>
					task.depends_on.map((need) => {
						const [from, to] = [spots.get(need), spots.get(task.name)];
						if (from === undefined || to === undefined) return null;
						const open = byName.get(need)?.status !== "succeeded";
						return (
							<path
								key={`${need}>${task.name}`}
								class={open ? "edge open" : "edge"}
								d={edgePath(from, to)}
							/>
						);
					}),
				)}
				{plan.tasks.map((task) => (
					<foreignObject
						key={task.name}
						x={spots.get(task.name)?.x}
						y={spots.get(task.name)?.y}
						width={NODE.width}
						height={NODE.height}
					>
						<button
							type="button"
							class={`node ${LOOKS[task.status]}`}
							aria-pressed={chosen === task.name}
							onClick={() => pick(task)}
						>
							<span>
								<TaskMark task={task} size={14} />
								<b class="clip">
									<Words>{task.name}</Words>
								</b>
								<small>
									{task.status === "retried" && task.next_attempt_at !== null ? (
										<Until at={task.next_attempt_at} />
									) : (
										shortTook(task)
									)}
								</small>
							</span>
							<em>
								<Words>{`${task.agent} ${task.action}`}</Words>
							</em>
						</button>
					</foreignObject>
				))}
			</svg>
		</section>
	);
}

/** Without seconds after the first minute, which a node has no room for. */
const shortTook = (task: TaskJson) => tookOf(task).replace(/ min \d+ s$/, " min");

function PlanTable({ plan, chosen, pick }: Shared) {
	const span = spanOf(plan.tasks);
	return (
		<table class="cards-table">
			<Head columns={["Task", "Agent and action", "Attempts", ["Took", "num"], "State"]} />
			<tbody>
				{plan.tasks.map((task) => (
					<tr
						key={task.name}
						class={chosen === task.name ? "pick picked" : "pick"}
						onClick={() => pick(task)}
					>
						<td>
							<b>
								<Words>{task.name}</Words>
							</b>
						</td>
						<td class="soft">
							<Words>{`${task.agent} ${task.action}`}</Words>
						</td>
						<td>
							<AttemptBar task={task} {...span} width={260} />
						</td>
						<td class="num">{tookOf(task)}</td>
						<td class="full">
							<span class="cell-mark">
								<TaskMark task={task} />
								<span>
									<TaskWords task={task} />
								</span>
							</span>
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}
