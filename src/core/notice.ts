/**
 * Which events become notifications, with which text and over which routes. Pure: the time of day and
 * the earlier notifications are arguments.
 */

import { needsFix } from "./attention.js";
import type { EventMap, EventType, ReeveEvent } from "./events.js";
import { plainLine, safeText } from "./safe-text.js";
import { renderDuration } from "./units.js";

export const NOTICE_KINDS = [
	"halted",
	"waiting",
	"question",
	"finished",
	"turn_failed",
	"retrying",
	"usage_limit",
	"budget_low",
	"over_budget",
	"stalled",
	"start_timeout",
	"health",
	"watch",
	"schedule_failed",
	"undelivered",
	"dead_letter",
	"circuit_open",
	"circuit_closed",
	"service_restarted",
	"remote_lost",
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Kinds and groups of kinds, for the filter of a route. */
export const ROUTE_KINDS = [...NOTICE_KINDS, "needs_you", "budget"] as const;
export type RouteKind = (typeof ROUTE_KINDS)[number];

export interface Notice {
	/** `test` is sent only by `reeve notify test`, over the tested route. */
	readonly kind: NoticeKind | "test";
	/** Null if it does not concern an agent. */
	readonly agent: string | null;
	/** Null if it does not concern a task. */
	readonly task: string | null;
	readonly title: string;
	readonly text: string;
	readonly at: string;
	/** The event that it reports. */
	readonly seq: number;
	/** Whether it waits for a person, or cannot recover without one. */
	readonly needs_you: boolean;
	/** The page of the agent; a path until the notification is sent, null if there is no page. */
	readonly link: string | null;
	/**
	 * How many earlier notices of the same kind about the same agent it stands for; 0 for one notice.
	 * Omitted in notices stored by older versions.
	 */
	readonly more?: number;
	/** The question that it reports, for clients that can answer it; null if there is none. */
	readonly question: {
		readonly id: string;
		readonly choices: readonly string[];
	} | null;
}

/** Notices that report something a person has to do. */
const NEEDS_YOU: ReadonlySet<NoticeKind> = new Set([
	...(["halted", "waiting", "question", "turn_failed", "over_budget", "stalled"] as const),
	...(["undelivered", "dead_letter", "circuit_open"] as const),
]);

/** The kinds that are sent to browsers: everything that needs a person, and finished turns. */
export const PUSH_KINDS: readonly NoticeKind[] = [...NEEDS_YOU, "finished"];

/** The part of the page about an agent, as a path. */
function agentPath(agent: string): string {
	return `/#/agents/${encodeURIComponent(agent).replaceAll("%3A", ":")}`;
}

/** The receiver of notifications. */
export interface NoticeRoute {
	readonly name: string;
	/** Null for all. */
	readonly kinds: readonly RouteKind[] | null;
	/** Agents or projects; null for all. */
	readonly agents: readonly string[] | null;
	/** From and to, in minutes of the day; spans midnight if `from` is later. */
	readonly quiet: { readonly fromMinute: number; readonly toMinute: number } | null;
}

type Make = (kind: NoticeKind, title: string, text: string) => Notice;

/** The notices of each type of event; null if the operator is not notified. */
const NOTICES: {
	readonly [Type in EventType]?: (data: EventMap[Type], who: string, make: Make) => Notice | null;
} = {
	"agent.policy_changed": ({ to, reason }, who, make) =>
		to === "halted" ? make("halted", `${who} was halted`, reason) : null,
	"agent.waiting": ({ reason }, who, make) => make("waiting", `${who} is waiting for you`, reason),
	"agent.asked": ({ question }, who, make) =>
		make(
			"question",
			`${who} has a question`,
			`${question}\nAnswer with \`reeve reply ${who} ANSWER\`.`,
		),
	"agent.asks": noticeOfQuestion,
	"agent.turn_finished": ({ text }, who, make) =>
		make("finished", `${who} finished`, text ?? "It waits for a message."),
	"agent.turn_failed": ({ cause, detail, retry_in_ms: retryInMs }, who, make) => {
		// A limit is reported for its account. A retried turn is reported when Reeve stops retrying.
		if (cause === "usage_limit" || retryInMs !== null) return null;
		const next = needsFix(cause)
			? `Fix the cause, then run \`reeve resume ${who}\`.`
			: `Inspect it with \`reeve attach ${who}\`.`;
		const title = `${who}: the last turn failed (${cause})`;
		return make("turn_failed", title, detail === null ? next : `${detail}\n${next}`);
	},
	"agent.retrying": ({ cause, detail, attempts, for_ms: forMs }, who, make) => {
		const text = `${attempts} requests have failed within ${renderDuration(forMs)}. The CLI is still retrying.`;
		const title = `${who}: requests keep failing (${cause})`;
		return make("retrying", title, detail ? `${detail}\n${text}` : text);
	},
	// Also sent after an exit at a limit, which has no notice of its own: this one includes the end time.
	"account.limited": ({ until, reason, host }, who, make) => {
		// The host whose agent hit it sends the notice.
		if (host !== undefined) return null;
		const text = until === null ? reason : `${reason}; until ${until}`;
		return make("usage_limit", `${who} has hit its usage limit`, text);
	},
	"agent.budget_low": ({ reason }, who, make) =>
		make("budget_low", `${who} has used most of its budget`, `${reason}.`),
	"agent.over_budget": ({ reason }, who, make) =>
		make("over_budget", `${who} has used up its budget`, `${reason}.`),
	"agent.stalled": ({ step }, who, make) =>
		make("stalled", `${who} makes no progress`, `Action: ${step}.`),
	"agent.start_timeout": ({ after_ms: afterMs, screen }, who, make) => {
		const text = `It was not ready after ${renderDuration(afterMs)}. Reeve kills it.`;
		return make("start_timeout", `${who} did not start`, [text, ...screen].join("\n"));
	},
	"agent.unhealthy": ({ error, failures, action }, who, make) => {
		const next = action === "restart" ? "Reeve restarts it." : "It keeps running.";
		const text = `${failures} times in a row: ${error}. ${next}`;
		return make("health", `The health check of ${who} fails`, text);
	},
	"agent.recovered": ({ unhealthy_ms: unhealthyMs }, who, make) => {
		const text = `Its health check failed for ${renderDuration(unhealthyMs)}.`;
		return make("health", `${who} is healthy again`, text);
	},
	"agent.watch_loop": ({ restarts, within_ms: withinMs, files }, who, make) => {
		const text = `It was restarted ${restarts} times within ${renderDuration(withinMs)}; the next restart is delayed. Last changed: ${files.join(", ")}. If the agent writes them itself, ignore them in .gitignore.`;
		return make("watch", `The watched files of ${who} keep changing`, text);
	},
	"agent.watch_incomplete": ({ reason }, who, make) =>
		make("watch", `Not all files of ${who} are watched`, reason),
	"schedule.failed": ({ schedule, slot_at: slotAt, reason }, _who, make) =>
		make("schedule_failed", `The schedule ${schedule} failed`, `Slot ${slotAt}: ${reason}`),
	"inbox.dead": ({ reason }, who, make) =>
		make("undelivered", `A message for ${who} was not delivered`, reason),
	"task.changed": ({ to, error, code, reason }, who, make) => {
		if (to !== "dead_lettered") return null;
		// Many tasks that were never tried can fail at once for the same reason: one notification for all.
		if (error === null && code === "agent_unavailable") {
			return {
				...make("dead_letter", `Tasks for ${who} could not be started`, reason),
				task: null,
			};
		}
		return make("dead_letter", `A task for ${who} failed (dead letter)`, reason);
	},
	"circuit.changed": noticeOfCircuit,
	"service.ended": ({ service, action, reason }, _who, make) =>
		action === "restart"
			? make("service_restarted", `The daemon's ${service} was restarted`, reason)
			: null,
	"remote.lost": ({ remote, reason }, _who, make) =>
		make("remote_lost", `${remote} does not answer`, `${reason}. Its agents may be running.`),
};

/** The notice for this event; null if the operator is not notified. */
export function noticeOf(event: ReeveEvent): Notice | null {
	const { agent = null, task = null, at, seq } = event;
	const make: Make = (kind, title, text) => ({
		kind,
		title: plainLine(title),
		text: safeText(text),
		...{ agent, task, at, seq },
		needs_you: NEEDS_YOU.has(kind),
		link: agent === null ? null : agentPath(agent),
		more: 0,
		question: null,
	});
	const render = <Type extends EventType>(type: Type, data: EventMap[Type]) =>
		NOTICES[type]?.(data, agent ?? "Reeve", make) ?? null;
	return render(event.type, event.data);
}

/** With its choices and how to answer, if they can be read. */
function noticeOfQuestion(
	{ detail, question, kind, text, choices }: EventMap["agent.asks"],
	who: string,
	make: Make,
): Notice {
	// Events of an earlier version have no question.
	if (!question || !text) {
		const how = `Run \`reeve attach ${who}\` to see it.`;
		return make("question", `${who} shows a question`, detail ? `${detail}\n${how}` : how);
	}
	const title = kind === "permission" ? `${who} asks permission` : `${who} asks you`;
	const labels = choices.map((label, index) => `${index + 1}. ${label}`);
	const how = `Answer with \`reeve answer ${who} NUMBER\`.`;
	const notice = make("question", title, [text, ...labels, how].join("\n"));
	return { ...notice, question: { id: question, choices: choices.map(plainLine) } };
}

/** One notice when the circuit opens and one when it closes; failed probes in between are not news. */
function noticeOfCircuit(
	{ from, to, reason }: EventMap["circuit.changed"],
	who: string,
	make: Make,
): Notice | null {
	if (to === "open" && from === "closed") {
		return make("circuit_open", `Calls to ${who} are refused`, reason);
	}
	if (to === "closed" && from !== "closed") {
		return make("circuit_closed", `Calls to ${who} are accepted again`, reason);
	}
	return null;
}

/** `count`: not sent now; it becomes a part of the next notice on its topic. */
export type RouteDecision = "send" | "not_meant" | "count" | "quiet";

/** At most one notice on a topic is sent within this time; the others are counted. */
export const REPEAT_MS = 60_000;

/** Equal for notices of the same kind about the same agent. */
export function topicOf({ kind, agent }: Notice): string {
	return `${kind} ${agent}`;
}

/** Whether it reports a state. Counting an opening after a closing would leave the wrong state last. */
export function isState({ kind }: Notice): boolean {
	return kind === "circuit_open" || kind === "circuit_closed";
}

/** The notice with the number of those that it stands for. */
export function withCount(notice: Notice): Notice {
	const { more = 0, text, agent } = notice;
	if (more === 0) return notice;
	const about = agent === null ? "" : ` about ${agent}`;
	const notices = more === 1 ? "1 earlier notice" : `${more} earlier notices`;
	return {
		...notice,
		text: `${text}\n(The last of several: ${notices} of this kind${about} not sent.)`,
	};
}

export function decideRoute(
	route: NoticeRoute,
	notice: Notice,
	{ minuteOfDay, lastSentAgoMs }: { minuteOfDay: number; lastSentAgoMs: number | null },
): RouteDecision {
	if (route.kinds?.every((kind) => !isOfKind(notice, kind))) return "not_meant";
	if (route.agents !== null && !route.agents.some((scope) => isAbout(notice, scope))) {
		return "not_meant";
	}
	if (route.quiet !== null && isWithin(route.quiet, minuteOfDay)) return "quiet";
	const isSoon = lastSentAgoMs !== null && lastSentAgoMs < REPEAT_MS;
	return isSoon && !isState(notice) ? "count" : "send";
}

function isOfKind({ kind, needs_you: needsYou }: Notice, wanted: RouteKind): boolean {
	if (wanted === "needs_you") return needsYou;
	if (wanted === "budget") return kind === "budget_low" || kind === "over_budget";
	return kind === wanted;
}

function isAbout({ agent }: Notice, scope: string): boolean {
	return agent !== null && (agent === scope || agent.startsWith(`${scope}:`));
}

function isWithin(
	{ fromMinute, toMinute }: NonNullable<NoticeRoute["quiet"]>,
	minute: number,
): boolean {
	return fromMinute <= toMinute
		? minute >= fromMinute && minute < toMinute
		: minute >= fromMinute || minute < toMinute;
}
