/** The fleet: who needs you, what finished, what happens next by itself, and the table of all agents. */

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { markSeen } from "../actions.js";
import { nextSteps } from "../cards.js";
import { agents, list } from "../fleet.js";
import { followHistory } from "../history.js";
import { remotes } from "../hosts.js";
import { connection, isLive } from "../live.js";
import { Button } from "../parts/button.js";
import { FleetTable } from "../parts/fleet-table.js";
import { StateMark } from "../parts/mark.js";
import { NeedsList, needsCount } from "../parts/needs-list.js";
import { Words } from "../parts/text.js";
import { Age, Until, When } from "../parts/time.js";
import { agentLink } from "../route.js";
import { nextSlots } from "../schedules.js";
import { cliOf } from "../state-words.js";
import { Empty } from "./empty.js";

export function Fleet() {
	useEffect(followHistory, []);
	if (agents.value === null) return null;
	if (agents.value.size === 0 && remotes.value.length === 0) return <Empty />;
	return (
		<main class="fleet" id="main">
			<aside class="needs" aria-label="Agents that need you">
				<header class="needs-head">
					<h1>{heading()}</h1>
					<JumpLinks />
					{needsCount.value > 0 && isLive.value && (
						<span class="hint faint wide-only">
							<kbd>n</kbd> next one
						</span>
					)}
					{connection.value.type === "stale" && (
						<span class="faint">
							at <When at={connection.value.sinceMs} />
						</span>
					)}
				</header>
				<NeedsList />
				<Finished />
				<NextSteps />
			</aside>
			<FleetTable />
		</main>
	);
}

function heading(): string {
	const count = needsCount.value;
	const past = connection.value.type === "stale";
	if (count === 0) return past ? "Nothing needed you" : "Nothing needs you";
	if (past) return `${count} needed you`;
	return count === 1 ? "1 needs you" : `${count} need you`;
}

const finishedAgents = () => list.value.filter(({ status }) => status.state === "finished");

function JumpLinks() {
	const finished = finishedAgents().length;
	return (
		<span class="jump phone-only">
			{finished > 0 && (
				<button type="button" class="link" onClick={() => jumpTo("finished")}>
					{finished} finished
				</button>
			)}
			<button type="button" class="link" onClick={() => jumpTo("agents")}>
				{list.value.length} agents
			</button>
		</span>
	);
}

function jumpTo(id: string): void {
	document.getElementById(id)?.scrollIntoView();
}

const FINISHED_SHOWN = 5;

function Finished() {
	const all = useSignal(false);
	const found = finishedAgents().sort(
		(a, b) => Date.parse(b.status.since ?? "") - Date.parse(a.status.since ?? ""),
	);
	if (found.length === 0) return null;
	const ids = found.map(({ id }) => id);
	const shown = all.value ? found : found.slice(0, FINISHED_SHOWN);
	return (
		<section id="finished" class="finished">
			<header>
				<h2>{found.length} finished, not seen yet</h2>
				<Button look="link" do={() => markSeen(ids)} failed="Not marked">
					{found.length === 1
						? "Mark as seen"
						: found.length === 2
							? "Mark both as seen"
							: "Mark all as seen"}
				</Button>
			</header>
			<ul class="cards">
				{shown.map((agent) => (
					<li key={agent.id}>
						<article class="card">
							<StateMark state="finished" />
							<div class="card-body">
								<div class="card-head">
									<span>
										<a class="name" href={agentLink(agent.id)}>
											<Words>{agent.id}</Words>
										</a>{" "}
										<span class="faint">{cliOf(agent)}</span>
									</span>
									{agent.status.since !== null && <Age since={agent.status.since} />}
								</div>
								<p class="soft clip-3">
									<Words>{agent.status.why}</Words>
								</p>
							</div>
						</article>
					</li>
				))}
			</ul>
			{found.length > shown.length && (
				<button
					type="button"
					class="link pad"
					onClick={() => {
						all.value = true;
					}}
				>
					Show all {found.length}
				</button>
			)}
		</section>
	);
}

const NEXT_SHOWN = 8;

function NextSteps() {
	const steps = useComputed(() => nextSteps(list.value, nextSlots.value));
	if (steps.value.length === 0) return null;
	return (
		<section class="next">
			<h2>Next, by itself</h2>
			<ul>
				{steps.value.slice(0, NEXT_SHOWN).map(({ at, text }) => (
					<li key={`${at}${text}`}>
						<Until at={at} />
						<Words>{text}</Words>
					</li>
				))}
			</ul>
			{steps.value.length > NEXT_SHOWN && (
				<p class="faint pad">{steps.value.length - NEXT_SHOWN} more later</p>
			)}
		</section>
	);
}
