/** Tasks, plans, dead letters and circuits. */

import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { closeCircuit } from "../actions.js";
import { call } from "../api.js";
import { now } from "../clock.js";
import { list } from "../fleet.js";
import { countOf, renderTook, sentence } from "../format.js";
import { letters, moreLetters } from "../inbox.js";
import { AttemptBar, spanOf } from "../parts/attempt-bar.js";
import { Button } from "../parts/button.js";
import { askDiscard, askReplay } from "../parts/letter-actions.js";
import { Mark } from "../parts/mark.js";
import { TaskSide } from "../parts/task-side.js";
import {
	mayHaveTakenEffect,
	PlanMark,
	reasonOf,
	TaskMark,
	TaskWords,
} from "../parts/task-state.js";
import { Words } from "../parts/text.js";
import { Age, Until, When } from "../parts/time.js";
import { go, linkTo, place } from "../route.js";
import { useRead } from "../use-read.js";

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
					<Circuits />
				</main>
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
	const tabs = [
		["list", "Tasks", ""],
		["plans", "Plans", ""],
		["dead", "Dead letters", `${letters.value.length}${moreLetters.value ? "+" : ""}`],
		["circuits", "Circuits", open === 0 ? "" : `${open} open`],
	] as const;
	return (
		<nav class="subtabs" aria-label="Tasks">
			{tabs.map(([name, label, count]) => (
				<a
					key={name}
					href={linkTo("tasks", name)}
					aria-current={current === name ? "page" : undefined}
				>
					{label}
					{count !== "" && <span>{count}</span>}
				</a>
			))}
		</nav>
	);
}

function WithSide({ id, children }: { id: string | undefined; children: ComponentChildren }) {
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
			<TaskSide id={id} />
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
			const page = await call("GET /api/v1/tasks", { query: query(), signal });
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
				<select
					aria-label="Status"
					value={status.value}
					onChange={(event) => {
						status.value = event.currentTarget.value as Status | "";
					}}
				>
					<option value="">All states</option>
					{STATUSES.map((each) => (
						<option key={each} value={each}>
							{sentence(each.replaceAll("_", " "))}{" "}
							{counts[each] === undefined ? "" : `(${counts[each]})`}
						</option>
					))}
				</select>
				<AgentSelect
					value={agent.value}
					ids={callable.value}
					onChange={(id) => {
						agent.value = id;
					}}
				/>
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

export function AgentSelect({
	value,
	ids,
	onChange,
}: {
	value: string;
	ids: readonly string[];
	onChange: (id: string) => void;
}) {
	return (
		<select
			aria-label="Agent"
			value={value}
			onChange={(event) => onChange(event.currentTarget.value)}
		>
			<option value="">All agents</option>
			{ids.map((id) => (
				<option key={id} value={id}>
					{id}
				</option>
			))}
		</select>
	);
}

/** Opens a task when its row is pressed; the link inside it does the same for the keyboard. */
function picking(link: string) {
	return (event: MouseEvent) => {
		if ((event.target as Element).closest("a, button, input, label") === null) go(link);
	};
}

function TaskTable({ tasks, picked }: { tasks: readonly TaskJson[]; picked: string | undefined }) {
	return (
		<table class="cards-table">
			<thead>
				<tr>
					<th scope="col">Accepted</th>
					<th scope="col">Agent and action</th>
					<th scope="col">State</th>
					<th scope="col">Attempts</th>
					<th scope="col" class="num">
						Took
					</th>
					<th scope="col">Why</th>
				</tr>
			</thead>
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
							<td class="num">{took(task)}</td>
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

function took({ created_at: from, ended_at: to }: TaskJson): string {
	return renderTook((to === null ? now.value : Date.parse(to)) - Date.parse(from));
}

function Plans() {
	const { value, problem } = useRead(
		(signal) => call("GET /api/v1/plans", { query: { limit: PAGE }, signal }),
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
				<thead>
					<tr>
						<th scope="col">Accepted</th>
						<th scope="col">Plan</th>
						<th scope="col">State</th>
						<th scope="col" class="num">
							Took
						</th>
						<th scope="col">Why</th>
					</tr>
				</thead>
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

function DeadLetters({ picked }: { picked: string | undefined }) {
	const chosen = useSignal<ReadonlySet<string>>(new Set());
	const agent = useSignal(place.value.query.get("agent") ?? "");
	const shown = letters.value.filter((each) => agent.value === "" || each.agent === agent.value);
	const selected = shown.filter(({ task_id: id }) => chosen.value.has(id));
	const all = selected.length === shown.length && shown.length > 0;
	const toggle = (ids: readonly string[], on: boolean) => {
		const next = new Set(chosen.value);
		for (const id of ids) on ? next.add(id) : next.delete(id);
		chosen.value = next;
	};
	const ids = [...new Set(letters.value.map((each) => each.agent))];
	return (
		<>
			<div class="title-line">
				<h1>
					{countOf(letters.value.length, "dead letter")}
					{moreLetters.value ? " and more" : ""}
				</h1>
				<span class="soft">
					Calls that failed for good. Each stays until you replay or discard it.
				</span>
			</div>
			{letters.value.length > 0 && (
				<div class="filters">
					<label>
						<input
							type="checkbox"
							checked={all}
							onChange={(event) =>
								toggle(
									shown.map(({ task_id: id }) => id),
									event.currentTarget.checked,
								)
							}
						/>{" "}
						{selected.length === 0 ? "Select all" : `${selected.length} selected`}
					</label>
					<Button look="main" disabled={selected.length === 0} do={() => askReplay(selected)}>
						{selected.length === 0 ? "Replay…" : `Replay ${selected.length}…`}
					</Button>
					<Button look="danger" disabled={selected.length === 0} do={() => askDiscard(selected)}>
						{selected.length === 0 ? "Discard…" : `Discard ${selected.length}…`}
					</Button>
					<span class="push" />
					<AgentSelect
						value={agent.value}
						ids={ids}
						onChange={(id) => {
							agent.value = id;
						}}
					/>
				</div>
			)}
			<table class="cards-table">
				<thead>
					<tr>
						<th scope="col">
							<span class="away">Select</span>
						</th>
						<th scope="col">Failed at</th>
						<th scope="col">Agent and action</th>
						<th scope="col">Why</th>
						<th scope="col" class="num wide-only">
							Attempts
						</th>
					</tr>
				</thead>
				<tbody>
					{shown.map((task) => (
						<LetterRow
							key={task.task_id}
							task={task}
							picked={picked === task.task_id}
							chosen={chosen.value.has(task.task_id)}
							onChoose={(on) => toggle([task.task_id], on)}
						/>
					))}
				</tbody>
			</table>
			<Circuits />
		</>
	);
}

function LetterRow({
	task,
	picked,
	chosen,
	onChoose,
}: {
	task: TaskJson;
	picked: boolean;
	chosen: boolean;
	onChoose: (on: boolean) => void;
}) {
	const link = linkTo("tasks", "dead", task.task_id);
	return (
		<tr class={picked ? "pick picked" : "pick"} onClick={picking(link)}>
			<td>
				<label class="target">
					<input
						type="checkbox"
						aria-label={`Select ${task.agent} ${task.action}`}
						checked={chosen}
						onChange={(event) => onChoose(event.currentTarget.checked)}
					/>
				</label>
			</td>
			<td>{task.ended_at !== null && <When at={task.ended_at} />}</td>
			<td>
				<a class="name" href={link}>
					<Words>{task.agent}</Words>
				</a>{" "}
				<Words>{task.action}</Words>
			</td>
			<td class="full">
				<span class="cell-mark">
					<TaskMark task={task} />
					<span>
						<Words>{reasonOf(task)}</Words>
						{mayHaveTakenEffect(task) && (
							<div class="amber">May have taken effect, so it was not tried again</div>
						)}
					</span>
				</span>
			</td>
			<td class="num wide-only">{task.attempts.length}</td>
		</tr>
	);
}

function Circuits() {
	const callable = list.value.filter(({ kind }) => kind !== "session");
	if (callable.length === 0) return null;
	const rank = (circuit: string) => (circuit === "open" ? 0 : circuit === "half_open" ? 1 : 2);
	const sorted = [...callable].sort(
		(a, b) => rank(a.circuit) - rank(b.circuit) || b.consecutive_failures - a.consecutive_failures,
	);
	return (
		<section>
			<div class="title-line">
				<h2 class="big">Circuits</h2>
				<span class="soft">
					After several failures in a row, calls fail at once until a test call succeeds.
				</span>
			</div>
			<table class="cards-table">
				<thead>
					<tr>
						<th scope="col">Agent</th>
						<th scope="col">Circuit</th>
						<th scope="col">Last failure</th>
						<th scope="col">
							<span class="away">Action</span>
						</th>
					</tr>
				</thead>
				<tbody>
					{sorted.map(
						({
							id,
							circuit,
							circuit_open_until: until,
							consecutive_failures: failures,
							last_failure_at: failed,
							reason,
						}) => (
							<tr key={id}>
								<td>
									<b>
										<Words>{id}</Words>
									</b>
								</td>
								<td>
									<span class="cell-mark">
										<Mark
											{...(circuit === "open"
												? { shape: "triangle", tone: "amber" }
												: circuit === "half_open"
													? { shape: "half", tone: "blue" }
													: ({ shape: "ring", tone: "green" } as const))}
										/>
										<span>
											<span class={circuit === "open" ? "word urgent amber" : ""}>
												{sentence(circuit.replace("_", " "))}
											</span>
											{circuit === "open" && until !== null && (
												<span class="faint">
													{" "}
													· next try <Until at={until} />
												</span>
											)}
											{circuit !== "open" && failures > 0 && (
												<span class="faint"> · {countOf(failures, "failure")} in a row</span>
											)}
										</span>
									</span>
								</td>
								<td class="soft full">
									{failed !== null && (
										<>
											{circuit !== "closed" && <Words>{`${reason} · `}</Words>}
											<Age since={failed} /> ago
										</>
									)}
								</td>
								<td class="num">
									{circuit !== "closed" && (
										<Button do={() => closeCircuit(id)} failed="Not closed">
											Close circuit
										</Button>
									)}
								</td>
							</tr>
						),
					)}
				</tbody>
			</table>
		</section>
	);
}
