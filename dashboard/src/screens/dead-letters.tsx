/** Dead letters with bulk replay and discard, and the circuits of all agents. */

import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { closeCircuit } from "../actions.js";
import { type Agent, list } from "../fleet.js";
import { countOf, sentence } from "../format.js";
import { letters, moreLetters } from "../inbox.js";
import { Button } from "../parts/button.js";
import { Head } from "../parts/head.js";
import { askDiscard, askReplay } from "../parts/letter-actions.js";
import { Mark } from "../parts/mark.js";
import { mayHaveTakenEffect, reasonOf, TaskMark } from "../parts/task-state.js";
import { Words } from "../parts/text.js";
import { Age, Until, When } from "../parts/time.js";
import { linkTo, place } from "../route.js";
import { AgentSelect, picking } from "./tasks-parts.js";

export function DeadLetters({ picked }: { picked: string | undefined }) {
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
					<AgentSelect value={agent} ids={ids} />
				</div>
			)}
			<table class="cards-table">
				<Head
					columns={[
						["Select", "away"],
						"Failed at",
						"Agent and action",
						"Why",
						["Attempts", "num wide-only"],
					]}
				/>
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

/** `alone`: as a screen of its own, with the first heading. */
export function Circuits({ alone = false }: { alone?: boolean }) {
	const callable = list.value.filter(({ kind }) => kind !== "session");
	if (callable.length === 0) {
		return alone ? (
			<>
				<h1>Circuits</h1>
				<p class="soft">No agent takes calls.</p>
			</>
		) : null;
	}
	const rank = (circuit: string) => (circuit === "open" ? 0 : circuit === "half_open" ? 1 : 2);
	const sorted = [...callable].sort(
		(a, b) => rank(a.circuit) - rank(b.circuit) || b.consecutive_failures - a.consecutive_failures,
	);
	const Frame = alone ? Fragment : "section";
	return (
		<Frame>
			<div class="title-line">
				{alone ? <h1>Circuits</h1> : <h2 class="big">Circuits</h2>}
				<span class="soft">
					After several failures in a row, calls fail immediately until a test call succeeds.
				</span>
			</div>
			<table class="cards-table">
				<Head columns={["Agent", "Circuit", "Last failure", ["Action", "away"]]} />
				<tbody>
					{sorted.map((agent) => (
						<CircuitRow key={agent.id} agent={agent} />
					))}
				</tbody>
			</table>
		</Frame>
	);
}

function CircuitRow({ agent }: { agent: Agent }) {
	const { id, circuit, circuit_open_until: until, last_failure_at: failed, reason } = agent;
	const failures = agent.consecutive_failures;
	return (
		<tr>
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
			<td class="actions">
				{circuit !== "closed" && (
					<Button do={() => closeCircuit(id)} failed="Not closed">
						Close circuit
					</Button>
				)}
			</td>
		</tr>
	);
}
