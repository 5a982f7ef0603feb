/** Schedules: when each one fires next, the outcome of the last slot, and the history of one. */

import { useSignal } from "@preact/signals";
import type { ScheduleSlotJson } from "../../../src/http/contract/schedules.js";
import { call } from "../api.js";
import { countOf, renderTook, sentence } from "../format.js";
import { Button } from "../parts/button.js";
import { Fact } from "../parts/facts.js";
import { Head } from "../parts/head.js";
import { Mark, type MarkProps } from "../parts/mark.js";
import { Code, Words } from "../parts/text.js";
import { Age, Until, When } from "../parts/time.js";
import { agentLink, linkTo } from "../route.js";
import {
	actionOf,
	pauseSchedule,
	resumeSchedule,
	runSchedule,
	type Schedule,
	schedules,
	timesOf,
} from "../schedules.js";
import { useRead } from "../use-read.js";
import { picking } from "./tasks-parts.js";

const MARKS: Readonly<Record<ScheduleSlotJson["status"], MarkProps>> = {
	queued: { shape: "dots", tone: "blue" },
	fired: { shape: "disc", tone: "green" },
	succeeded: { shape: "check", tone: "green" },
	failed: { shape: "octagon_cross", tone: "red" },
	cancelled: { shape: "square_stroke", tone: "grey" },
	skipped: { shape: "square", tone: "grey" },
};

const WORDS: Readonly<Record<ScheduleSlotJson["status"], string>> = {
	queued: "Waits for the one before",
	fired: "Under way",
	succeeded: "Succeeded",
	failed: "Failed",
	cancelled: "Cancelled",
	skipped: "Skipped",
};

export function Schedules({ picked }: { picked: string | undefined }) {
	const found = schedules.value;
	return (
		<>
			<div class="title-line">
				<h1>{found.length === 0 ? "Schedules" : countOf(found.length, "schedule")}</h1>
				<span class="soft">Actions that Reeve starts at certain times.</span>
			</div>
			{found.length === 0 ? (
				<p class="soft">
					No schedules. Add <code>schedules</code> to a project of the fleet file, then run{" "}
					<code>reeve reload</code>.
				</p>
			) : (
				<table class="cards-table">
					<Head columns={["Schedule", "When", "Next", "Last", ["Actions", "away"]]} />
					<tbody>
						{found.map((schedule) => (
							<Row key={schedule.id} schedule={schedule} picked={picked === schedule.id} />
						))}
					</tbody>
				</table>
			)}
		</>
	);
}

function Row({ schedule, picked }: { schedule: Schedule; picked: boolean }) {
	const { id, last, blocked, paused_at: paused } = schedule;
	const link = linkTo("tasks", "schedules", id);
	return (
		<tr class={picked ? "pick picked" : "pick"} onClick={picking(link)}>
			<td class="full">
				<a class="name" href={link}>
					<Words>{id}</Words>
				</a>
				<div class="soft">
					<Words>{actionOf(schedule)}</Words>
				</div>
			</td>
			<td class="soft">
				<Words>{timesOf(schedule)}</Words>
			</td>
			<td>
				<Next schedule={schedule} />
				{blocked !== null && paused === null && (
					<div class="soft">
						Would be skipped: <Words>{blocked}</Words>
					</div>
				)}
			</td>
			<td>{last === null ? <span class="faint">No slot yet</span> : <Slot slot={last} />}</td>
			<td class="actions">
				<Actions schedule={schedule} />
			</td>
		</tr>
	);
}

function Next({ schedule: { next_at: next, paused_at: paused } }: { schedule: Schedule }) {
	if (paused !== null) {
		return (
			<span class="cell-mark">
				<Mark shape="square" tone="grey" />
				<span>
					Paused <Age since={paused} />
				</span>
			</span>
		);
	}
	if (next === null) return <span class="faint">Never</span>;
	return (
		<span class="cell-mark">
			<Mark shape="clock" tone="blue" />
			<Until at={next} />
		</span>
	);
}

function Slot({ slot }: { slot: ScheduleSlotJson }) {
	const { status, missed, slot_at: at } = slot;
	return (
		<span class="cell-mark">
			<Mark {...MARKS[status]} />
			<span>
				{WORDS[status]}
				{missed !== null && missed.count > 1 ? ` ${missed.count} times` : ""}{" "}
				<span class="faint">
					· <When at={at} seconds={false} />
				</span>
			</span>
		</span>
	);
}

function Actions({ schedule: { id, paused_at: paused } }: { schedule: Schedule }) {
	return (
		<span class="buttons">
			<Button do={() => runSchedule(id)} failed="Not started" label={`Run now: ${id}`}>
				Run now
			</Button>
			{paused === null ? (
				<Button do={() => pauseSchedule(id)} failed="Not paused" label={`Pause: ${id}`}>
					Pause
				</Button>
			) : (
				<Button do={() => resumeSchedule(id)} failed="Not resumed" label={`Resume: ${id}`}>
					Resume
				</Button>
			)}
		</span>
	);
}

const RULES: Readonly<Record<Schedule["overlap"], string>> = {
	skip: "A slot is skipped while the one before is still under way.",
	queue: "A slot waits until the one before has ended.",
	replace: "A slot cancels the one before.",
};

const PAGE = 30;

export function ScheduleSide({ id }: { id: string }) {
	const limit = useSignal(PAGE);
	const { value, problem } = useRead(
		(signal) =>
			call("GET /api/v1/schedules/:id", { place: [id], query: { limit: limit.value }, signal }),
		`${id} ${limit.value}`,
		({ type }) => type.startsWith("schedule."),
	);
	if (value.value === null) {
		return (
			<aside class="side" aria-label="Schedule">
				<p class="soft">{problem.value ?? "Reading…"}</p>
			</aside>
		);
	}
	const { schedule, slots } = value.value;
	const { action, overlap, catch_up: catchUp, jitter_ms: jitter, blocked } = schedule;
	return (
		<aside class="side" aria-label={`Schedule ${id}`}>
			<section>
				<h2>
					<Words>{id}</Words>
				</h2>
				<p class="soft">
					<Words>{`${sentence(timesOf(schedule))}: ${actionOf(schedule)}`}</Words>
				</p>
				<dl class="facts">
					<Fact name="Next">
						<Next schedule={schedule} />
					</Fact>
					{blocked !== null && (
						<Fact name="Now">
							A slot would be skipped: <Words>{blocked}</Words>
						</Fact>
					)}
					<Fact name="Overlap">{RULES[overlap]}</Fact>
					<Fact name="Late">
						{catchUp === "none"
							? "A slot that comes more than a minute late is skipped."
							: "If slots were missed, one fires late."}
					</Fact>
					{jitter > 0 && <Fact name="Jitter">Up to {renderTook(jitter)} later.</Fact>}
				</dl>
				{action.type === "call" && action.payload !== null && <Code>{action.payload}</Code>}
				<Actions schedule={schedule} />
			</section>
			<section>
				<h2>History</h2>
				{slots.length === 0 && <p class="soft">No slot has come yet.</p>}
				<ul class="attempts">
					{slots.map((slot) => (
						<li key={slot.id}>
							<div class="head">
								<Slot slot={slot} />
								<span class="faint num">{tookOf(slot)}</span>
							</div>
							<p class="soft">
								<Words>{sentence(slot.reason)}</Words>
								{slot.manual && " Requested."} <Started slot={slot} />
							</p>
						</li>
					))}
				</ul>
				{slots.length === limit.value && (
					<button
						type="button"
						class="link"
						onClick={() => {
							limit.value += PAGE;
						}}
					>
						Older slots
					</button>
				)}
			</section>
		</aside>
	);
}

function tookOf({ decided_at: from, ended_at: to }: ScheduleSlotJson): string {
	return to === null ? "" : renderTook(Date.parse(to) - Date.parse(from));
}

/** A link to what it has started. */
function Started({ slot: { started } }: { slot: ScheduleSlotJson }) {
	if (started === null) return null;
	if (started.type === "task") return <a href={linkTo("tasks", "list", started.id)}>Task</a>;
	if (started.type === "plan") return <a href={linkTo("plans", started.id)}>Plan</a>;
	return started.type === "restart" ? <a href={agentLink(started.id)}>Agent</a> : null;
}
