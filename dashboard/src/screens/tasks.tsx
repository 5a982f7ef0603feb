/** Tasks and plans, and the tabs for dead letters, circuits and schedules. */

import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { call } from "../api.js";
import { now } from "../clock.js";
import { list } from "../fleet.js";
import { renderTook, sentence } from "../format.js";
import { callAll } from "../hosts.js";
import { letters, moreLetters } from "../inbox.js";
import { AttemptBar, spanOf } from "../parts/attempt-bar.js";
import { Button } from "../parts/button.js";
import { Select } from "../parts/fields.js";
import { Head } from "../parts/head.js";
import { Subtabs } from "../parts/subtabs.js";
import { TaskSide } from "../parts/task-side.js";
import { PlanMark, reasonOf, TaskMark, TaskWords } from "../parts/task-state.js";
import { Words } from "../parts/text.js";
import { When } from "../parts/time.js";
import { linkTo, place } from "../route.js";
import { schedules } from "../schedules.js";
import { useRead } from "../use-read.js";
import { Circuits, DeadLetters } from "./dead-letters.js";
import { ScheduleSide, Schedules } from "./schedules.js";
import { AgentSelect, picking, tookOf } from "./tasks-parts.js";

const STATUSES = [
	"queued",
	"dispatched",
	"in_progress",
	"retried",
	"succeeded",
	"dead_lettered",
	"cancelled",
] as const;
type Status = (typeof STATUSES)[number];

export function Tasks() {
	const [tab = "list", id] = place.value.rest;
	return (
		<div class="tasks-page">
			<TaskTabs current={tab} />
			{tab === "plans" ? (
				<Plans />
			) : tab === "dead" ? (
				<WithSide id={id}>
					<DeadLetters picked={id} />
				</WithSide>
			) : tab === "circuits" ? (
				<main id="main" class="sheet">
					<Circuits alone />
				</main>
			) : tab === "schedules" ? (
				<WithSide id={id} side={ScheduleSide}>
					<Schedules picked={id} />
				</WithSide>
			) : (
				<WithSide id={id}>
					<TaskList picked={id} />
				</WithSide>
			)}
		</div>
	);
}

export function TaskTabs({ current }: { current: string }) {
	const open = list.value.filter(({ circuit }) => circuit === "open").length;
	const tab = (name: string, label: string, count = "") => ({
		...{ name, label, count, link: linkTo("tasks", name) },
	});
	const tabs = [
		tab("list", "Tasks"),
		tab("plans", "Plans"),
		tab("dead", "Dead letters", `${letters.value.length}${moreLetters.value ? "+" : ""}`),
		tab("circuits", "Circuits", open === 0 ? "" : `${open} open`),
		tab("schedules", "Schedules", schedules.value.length === 0 ? "" : `${schedules.value.length}`),
	];
	return <Subtabs label="Tasks" tabs={tabs} current={current} />;
}

function WithSide({
	id,
	children,
	side: Side = TaskSide,
}: {
	id: string | undefined;
	children: ComponentChildren;
	side?: (props: { id: string }) => ComponentChildren;
}) {
	if (id === undefined) {
		return (
			<main id="main" class="sheet">
				{children}
			</main>
		);
	}
	return (
		<div class="with-side">
			<main id="main" class="sheet">
				{children}
			</main>
			<Side id={id} />
		</div>
	);
}

const PAGE = 100;

function TaskList({ picked }: { picked: string | undefined }) {
	const status = useSignal<Status | "">("");
	const agent = useSignal("");
	const older = useSignal<readonly TaskJson[]>([]);
	const next = useSignal<string | null>(null);
	const query = () => ({
		limit: PAGE,
		counts: "1" as const,
		...(status.value === "" ? {} : { status: status.value }),
		...(agent.value === "" ? {} : { agent: agent.value }),
	});
	const { value, problem } = useRead(
		async (signal) => {
			const page = await callAll("GET /api/v1/tasks", "tasks", { query: query(), signal });
			older.value = [];
			next.value = page.next;
			return page;
		},
		`${status.value} ${agent.value}`,
		({ type }) => type.startsWith("task."),
	);
	const tasks = [...(value.value?.tasks ?? []), ...older.value];
	const counts = value.value?.counts ?? {};
	const callable = useComputed(() =>
		list.value.filter(({ kind }) => kind !== "session").map(({ id }) => id),
	);
	const more = async () => {
		if (next.value === null) return undefined;
		const page = await call("GET /api/v1/tasks", { query: { ...query(), before: next.value } });
		older.value = [...older.value, ...page.tasks];
		next.value = page.next;
		return undefined;
	};
	return (
		<>
			<h1>Tasks</h1>
			<div class="filters">
				<Select label="Status" value={status} options={statusLabels(counts)} />
				<AgentSelect value={agent} ids={callable.value} />
			</div>
			{problem.value !== null && <p class="soft">{problem}</p>}
			{value.value !== null && tasks.length === 0 ? (
				<p class="soft">
					No tasks. Call an agent with <code>reeve call AGENT ACTION</code>.
				</p>
			) : (
				<TaskTable tasks={tasks} picked={picked} />
			)}
			{next.value !== null && (
				<Button look="link" harmless do={more} failed="Not read">
					Older tasks
				</Button>
			)}
		</>
	);
}

function statusLabels(
	counts: Readonly<Partial<Record<Status, number>>>,
): Readonly<Record<Status | "", string>> {
	const labels = STATUSES.map((status) => {
		const count = counts[status] === undefined ? "" : ` (${counts[status]})`;
		return [status, `${sentence(status.replaceAll("_", " "))}${count}`];
	});
	return { "": "All states", ...Object.fromEntries(labels) };
}

function TaskTable({ tasks, picked }: { tasks: readonly TaskJson[]; picked: string | undefined }) {
	return (
		<table class="cards-table">
			<Head
				columns={["Accepted", "Agent and action", "State", "Attempts", ["Took", "num"], "Why"]}
			/>
			<tbody>
				{tasks.map((task) => {
					const link = linkTo("tasks", "list", task.task_id);
					return (
						<tr
							key={task.task_id}
							class={picked === task.task_id ? "pick picked" : "pick"}
							onClick={picking(link)}
						>
							<td class="faint">
								<When at={task.created_at} />
							</td>
							<td>
								<a class="name" href={link}>
									<Words>{task.agent}</Words>
								</a>{" "}
								<Words>{task.action}</Words>
							</td>
							<td>
								<span class="cell-mark">
									<TaskMark task={task} />
									<span>
										<TaskWords task={task} />
									</span>
								</span>
							</td>
							<td>
								<AttemptBar task={task} {...spanOf([task])} width={96} />
							</td>
							<td class="num">{tookOf(task)}</td>
							<td class="soft full">
								<Words>{task.status === "succeeded" ? "" : reasonOf(task)}</Words>
							</td>
						</tr>
					);
				})}
			</tbody>
		</table>
	);
}

function Plans() {
	const { value, problem } = useRead(
		(signal) => callAll("GET /api/v1/plans", "plans", { query: { limit: PAGE }, signal }),
		"plans",
		({ type }) => type.startsWith("plan."),
	);
	const plans = value.value?.plans ?? [];
	return (
		<main id="main" class="sheet">
			<h1>Plans</h1>
			{problem.value !== null && <p class="soft">{problem}</p>}
			{value.value !== null && plans.length === 0 && (
				<p class="soft">
					No plans. Run one with <code>reeve plan run FILE</code>.
				</p>
			)}
			<table class="cards-table">
				<Head columns={["Accepted", "Plan", "State", ["Took", "num"], "Why"]} />
				<tbody>
					{plans.map((plan) => {
						const link = linkTo("plans", plan.plan_id);
						return (
							<tr key={plan.plan_id} class="pick" onClick={picking(link)}>
								<td class="faint">
									<When at={plan.created_at} />
								</td>
								<td>
									<a class="name" href={link}>
										<Words>{plan.name}</Words>
									</a>
								</td>
								<td>
									<span class="cell-mark">
										<PlanMark plan={plan} /> {sentence(plan.status)}
									</span>
								</td>
								<td class="num">
									{renderTook(
										(plan.ended_at === null ? now.value : Date.parse(plan.ended_at)) -
											Date.parse(plan.created_at),
									)}
								</td>
								<td class="soft full">
									<Words>{plan.reason}</Words>
								</td>
							</tr>
						);
					})}
				</tbody>
			</table>
		</main>
	);
}
