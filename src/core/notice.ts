/**
 * Which events people are told of, in which words, and by which routes. Pure: the time of day comes as an
 * argument, and what was told before as well.
 */

import type { ReeveEvent } from "./events.js";

export const NOTICE_KINDS = [
	"halted",
	"waiting",
	"question",
	"turn_failed",
	"usage_limit",
	"over_budget",
	"stalled",
	"undelivered",
	"dead_letter",
	"circuit_open",
	"service_restarted",
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

export interface Notice {
	readonly kind: NoticeKind;
	/** Null for what is not about an agent. */
	readonly agent: string | null;
	/** Null for what is not about a task. */
	readonly task: string | null;
	readonly title: string;
	readonly text: string;
	readonly at: string;
	/** The event that it tells of. */
	readonly seq: number;
}

/** To whom a notice goes. */
export interface NoticeRoute {
	readonly name: string;
	/** Null for all. */
	readonly kinds: readonly NoticeKind[] | null;
	/** Agents or projects; null for all. */
	readonly agents: readonly string[] | null;
	/** From and to, in minutes of the day; over midnight where `from` is later. */
	readonly quiet: { readonly fromMinute: number; readonly toMinute: number } | null;
}

/** What people are told of this event; null when it is none of their business. */
export function noticeOf(event: ReeveEvent): Notice | null {
	const about = {
		...{ agent: event.agent ?? null, task: event.task ?? null },
		...{ at: event.at, seq: event.seq },
	};
	const who = event.agent ?? "Reeve";
	const make = (kind: NoticeKind, title: string, text: string): Notice => ({
		...{ kind, title, text },
		...about,
	});
	switch (event.type) {
		case "agent.policy_changed":
			if (event.data.to !== "halted") return null;
			return make("halted", `${who} was halted`, event.data.reason);
		case "agent.waiting":
			return make("waiting", `${who} waits for you`, event.data.reason);
		case "agent.asked":
			return make(
				"question",
				`${who} asks`,
				`${event.data.question}\n\`reeve reply ${who} ANSWER\` answers it.`,
			);
		case "agent.asks": {
			const { detail } = event.data;
			const text = `\`reeve attach ${who}\` shows it.`;
			return make("question", `${who} asks something`, detail ? `${detail}\n${text}` : text);
		}
		case "agent.turn_failed":
			// A limit is told for its account, and an overload passes.
			if (event.data.cause !== "auth" && event.data.cause !== "config") return null;
			return make("turn_failed", `${who} cannot work`, event.data.detail ?? event.data.cause);
		case "agent.exited":
			if (event.data.cause !== "usage_limit") return null;
			return make("usage_limit", `${who} has hit its usage limit`, "It goes on once that lifts.");
		case "account.limited": {
			const { until, reason } = event.data;
			const text = until === null ? reason : `${reason}; until ${until}`;
			return make("usage_limit", `${who} has hit its usage limit`, text);
		}
		case "agent.over_budget":
			return make("over_budget", `${who} has spent its budget`, `${event.data.reason}.`);
		case "agent.stalled":
			return make(
				"stalled",
				`${who} has come to a standstill`,
				`What is done: ${event.data.step}.`,
			);
		case "inbox.dead":
			return make("undelivered", `A text for ${who} was not delivered`, event.data.reason);
		case "task.changed":
			if (event.data.to !== "dead_lettered") return null;
			return make("dead_letter", `${who} left a dead letter`, event.data.reason);
		case "circuit.changed":
			if (event.data.to !== "open") return null;
			return make("circuit_open", `Calls to ${who} are refused`, event.data.reason);
		case "service.ended":
			if (event.data.action !== "restart") return null;
			return make(
				"service_restarted",
				`The daemon's ${event.data.service} was restarted`,
				event.data.reason,
			);
		default:
			return null;
	}
}

export type RouteDecision = "send" | "not_meant" | "repeated" | "quiet";

/** The same about the same within this long is told once. */
export const REPEAT_MS = 5 * 60_000;

/** Equal for notices of the same about the same. Each dead letter is one of its own. */
export function topicOf({ kind, agent, task }: Notice): string {
	return [kind, agent, ...(kind === "dead_letter" ? [task] : [])].join(" ");
}

export function decideRoute(
	route: NoticeRoute,
	notice: Notice,
	{ minuteOfDay, lastSentAgoMs }: { minuteOfDay: number; lastSentAgoMs: number | null },
): RouteDecision {
	if (route.kinds !== null && !route.kinds.includes(notice.kind)) return "not_meant";
	if (route.agents !== null && !route.agents.some((scope) => isAbout(notice, scope))) {
		return "not_meant";
	}
	if (lastSentAgoMs !== null && lastSentAgoMs < REPEAT_MS) return "repeated";
	return route.quiet !== null && isWithin(route.quiet, minuteOfDay) ? "quiet" : "send";
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
