/** The events: a time window and filters on the server, newest at the bottom, followed while it is open. */

import { useSignal } from "@preact/signals";
import { Component } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ReeveEvent } from "../../../src/core/events.js";
import { explain } from "../act.js";
import { call } from "../api.js";
import { now } from "../clock.js";
import { list, onEvent } from "../fleet.js";
import { visibleLine } from "../format.js";
import { Button } from "../parts/button.js";
import { Check, Select } from "../parts/fields.js";
import { Head } from "../parts/head.js";
import { Words } from "../parts/text.js";
import { When } from "../parts/time.js";
import { TimeTabs } from "../parts/time-tabs.js";
import { agentLink, linkTo } from "../route.js";
import { AgentSelect } from "./tasks-parts.js";

const PAGE = 100;
/** The tab never holds a whole history. */
const EVENTS_MAX = 1_000;
const SHOW_EVERY_MS = 250;
const NEAR_END_PX = 100;

const WINDOWS = {
	"15": "Last 15 minutes",
	"60": "Last hour",
	"720": "Last 12 hours",
	"1440": "Last 24 hours",
	"": "Any time",
} as const;
const GROUPS = {
	"": "All kinds",
	"agent.": "Agents",
	"agent.exited,agent.started,agent.decided": "Starts and exits",
	"task.,plan.,dead_letter.,circuit.": "Tasks and plans",
	"inbox.": "Messages",
	"account.": "Accounts",
	"operator.": "People and programs",
	"schedule.": "Schedules",
	"remote.": "Hosts",
	"daemon.,service.": "Daemon",
} as const;

/** As it is shown: events of a newer daemon may have types that this page does not know. */
interface Shown extends Pick<ReeveEvent, "seq" | "at"> {
	readonly type: string;
	readonly agent?: string | undefined;
	readonly plan?: string | undefined;
	/** Of events of a remote. */
	readonly host?: string;
	readonly data: unknown;
}

interface Filter {
	readonly minutes: keyof typeof WINDOWS;
	readonly type: keyof typeof GROUPS;
	/** Empty for all. */
	readonly agent: string;
}

/** The events of a filter: the newest page, older ones on request, and new ones as they arrive. */
function useEvents(filter: Filter, toEnd: () => void, isAtEnd: () => boolean) {
	const { minutes, type, agent } = filter;
	const events = useSignal<readonly Shown[]>([]);
	const next = useSignal<number | null>(null);
	const problem = useSignal<string | null>(null);
	const isRead = useSignal(false);
	const query = () => ({
		limit: PAGE,
		...(minutes === ""
			? {}
			: { since: new Date(now.peek() - Number(minutes) * 60_000).toISOString() }),
		...(type === "" ? {} : { type }),
		...(agent === "" ? {} : { agent }),
	});
	const readNewest = async () => {
		const page = await call("GET /api/v1/events/list", { query: query() });
		events.value = joinEvents([...page.events].reverse(), events.value);
		next.value = page.next;
	};
	const readOlder = async () => {
		if (next.value === null) return undefined;
		const page = await call("GET /api/v1/events/list", {
			query: { ...query(), before: next.value },
		});
		const found = [...page.events].reverse();
		events.value = [...found, ...events.value].slice(0, EVENTS_MAX);
		next.value = page.next;
		return undefined;
	};
	useEffect(() => {
		events.value = [];
		isRead.value = false;
		readNewest().then(
			() => {
				problem.value = null;
				isRead.value = true;
				toEnd();
			},
			(error: unknown) => {
				problem.value = explain(error);
			},
		);
		let waiting: Shown[] = [];
		let timer: number | null = null;
		const stop = onEvent((event) => {
			if (!isWanted(event, type, agent)) return;
			waiting.push(event);
			timer ??= setTimeout(() => {
				timer = null;
				const wasAtEnd = isAtEnd();
				events.value = joinEvents(events.value, waiting).slice(-EVENTS_MAX);
				waiting = [];
				if (wasAtEnd) toEnd();
			}, SHOW_EVERY_MS);
		});
		return () => {
			stop();
			if (timer !== null) clearTimeout(timer);
		};
	}, [minutes, type, agent]);
	return { events, next, problem, isRead, readOlder };
}

export function Events() {
	const minutes = useSignal<Filter["minutes"]>("720");
	const type = useSignal<Filter["type"]>("");
	const agent = useSignal("");
	const follow = useSignal(true);
	const end = useRef<HTMLDivElement>(null);
	const toEnd = () => {
		if (follow.value) requestAnimationFrame(() => end.current?.scrollIntoView({ block: "end" }));
	};
	/** New rows move nothing while earlier ones are being read. */
	const isAtEnd = () =>
		(end.current?.getBoundingClientRect().top ?? 0) <= innerHeight + NEAR_END_PX;
	const filter = { minutes: minutes.value, type: type.value, agent: agent.value };
	const { events, next, problem, isRead, readOlder } = useEvents(filter, toEnd, isAtEnd);
	useEffect(toEnd, [follow.value]);
	return (
		<div class="tasks-page">
			<TimeTabs current="events" />
			<main id="main" class="sheet events">
				<h1>Events</h1>
				<div class="filters">
					<Select label="Time" value={minutes} options={WINDOWS} />
					<Select label="Kind" value={type} options={GROUPS} />
					<AgentSelect value={agent} ids={list.value.map(({ id }) => id)} />
					<Check label="Follow" value={follow} />
				</div>
				{problem.value !== null && <p class="soft">{problem}</p>}
				{next.value !== null && (
					<Button look="link" harmless do={readOlder} failed="Not read">
						Older events
					</Button>
				)}
				{events.value.length === 0 && problem.value === null && !isRead.value ? (
					<p class="soft">Reading…</p>
				) : events.value.length === 0 && problem.value === null ? (
					<p class="soft">
						Nothing happened in this time.{" "}
						<button
							type="button"
							class="link"
							onClick={() => {
								minutes.value = "";
								type.value = "";
								agent.value = "";
							}}
						>
							Clear filter
						</button>
					</p>
				) : (
					<EventTable events={events.value} />
				)}
				<div ref={end} />
			</main>
		</div>
	);
}

/** An event that was also in the list is shown once. */
function joinEvents(list: readonly Shown[], more: readonly Shown[]): readonly Shown[] {
	const keyOf = ({ host = "", seq }: Shown) => `${host} ${seq}`;
	const known = new Set(list.slice(-PAGE).map(keyOf));
	return [...list, ...more.filter((event) => !known.has(keyOf(event)))];
}

function isWanted(event: Shown, type: string, agent: string): boolean {
	if (agent !== "" && event.agent !== agent) return false;
	return (
		type === "" ||
		type
			.split(",")
			.some((each) => event.type === each || (each.endsWith(".") && event.type.startsWith(each)))
	);
}

function EventTable({ events }: { events: readonly Shown[] }) {
	return (
		<table class="cards-table">
			<Head columns={["Time", "Agent or task", "What", "Details"]} />
			<tbody>
				{events.map((event) => (
					<Row key={`${event.host ?? ""} ${event.seq}`} event={event} />
				))}
			</tbody>
		</table>
	);
}

/** An event never changes, so its row is drawn once. */
class Row extends Component<{ readonly event: Shown }> {
	override shouldComponentUpdate(next: { readonly event: Shown }) {
		return next.event !== this.props.event;
	}

	render({ event }: { readonly event: Shown }) {
		return (
			<tr>
				<td class="faint">
					<When at={event.at} />
				</td>
				<td>
					<Subject event={event} />
				</td>
				<td>{event.type.replace(/^\w+\./, "").replaceAll("_", " ")}</td>
				<td class="soft full">
					<Words>{detailsOf(event)}</Words>
				</td>
			</tr>
		);
	}
}

function Subject({ event }: { event: Shown }) {
	if (event.agent !== undefined) {
		return (
			<a class="name" href={agentLink(event.agent)}>
				<Words>{event.agent}</Words>
			</a>
		);
	}
	if (event.plan !== undefined) return <a href={linkTo("plans", event.plan)}>plan</a>;
	return <span class="faint">{event.type.split(".")[0]}</span>;
}

const DETAILS_MAX = 300;

/** The data of an event as one line: its reason first, then the other values. */
function detailsOf({ data }: Shown): string {
	const { reason, ...rest } = data as Record<string, unknown>;
	const parts = Object.entries(rest)
		.filter(([, value]) => value !== null && value !== "")
		.map(
			([key, value]) =>
				`${key.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`,
		);
	const text = [...(typeof reason === "string" ? [reason] : []), ...parts].join(" · ");
	return visibleLine(text.length > DETAILS_MAX ? `${text.slice(0, DETAILS_MAX)}…` : text);
}
