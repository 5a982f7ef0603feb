/** Messages that were sent from this page, with their way: accepted, typed, confirmed. */

import { signal } from "@preact/signals";
import { call } from "./api.js";
import { now } from "./clock.js";
import { type Agent, onEvent } from "./fleet.js";
import { renderClock } from "./format.js";
import { messages } from "./inbox.js";

export interface Sent {
	/** Null if it was typed at once, because the program does not report when it is ready. */
	readonly id: string | null;
	readonly agent: string;
	readonly text: string;
	readonly acceptedAtMs: number;
	/** When it arrived, and whether the CLI confirmed it. */
	readonly delivered: { readonly atMs: number; readonly confirmed: boolean } | null;
}

const SHOWN_MAX = 5;

const sent = signal<readonly Sent[]>([]);

export async function sendMessage(agent: string, text: string): Promise<undefined> {
	const reply = await call("POST /api/v1/agents/:id/send", { place: [agent], body: { text } });
	const atMs = now.peek();
	const id = reply.message ?? null;
	const delivered = id === null ? { atMs, confirmed: false } : null;
	sent.value = [...sent.value, { id, agent, text, acceptedAtMs: atMs, delivered }].slice(-50);
}

onEvent((event) => {
	if (event.type !== "inbox.delivered") return;
	const { message, confirmed } = event.data;
	const delivered = { atMs: Date.parse(event.at), confirmed };
	sent.value = sent.value.map((each) => (each.id === message ? { ...each, delivered } : each));
});

export interface MessageLine {
	readonly key: string;
	readonly id: string | null;
	readonly text: string;
	readonly acceptedAtMs: number;
	readonly step: "accepted" | "typed" | "confirmed" | "dead";
	/** When it arrived; null before. */
	readonly atMs: number | null;
	readonly reason: string | null;
}

/** The messages of an agent, oldest first: those in its inbox, and the last that arrived from this page. */
export function messagesOf(agent: string): readonly MessageLine[] {
	const queued = messages.value.filter((each) => each.agent === agent);
	const known = new Set(queued.map(({ id }) => id));
	const arrived = sent.value
		.filter((each) => each.agent === agent && each.delivered !== null && !known.has(each.id ?? ""))
		.map(
			({ id, text, acceptedAtMs, delivered }): MessageLine => ({
				key: id ?? `${acceptedAtMs}`,
				...{ id, text, acceptedAtMs, reason: null },
				atMs: delivered?.atMs ?? null,
				step: delivered?.confirmed ? "confirmed" : "typed",
			}),
		);
	const waiting = queued.map(
		({ id, text, accepted_at, phase, reason }): MessageLine => ({
			...{ key: id, id, text, reason, atMs: null },
			acceptedAtMs: Date.parse(accepted_at),
			step: phase === "dead" ? "dead" : phase === "typed" ? "typed" : "accepted",
		}),
	);
	return [...arrived, ...waiting].sort((a, b) => a.acceptedAtMs - b.acceptedAtMs).slice(-SHOWN_MAX);
}

/** The reason why an accepted message is not typed yet. */
export function waitsFor({ status, id }: Agent): string {
	const { state, until } = status;
	switch (state) {
		case "asks_permission":
		case "asks_you":
			return "Typed after your answer";
		case "limited":
			return until === null
				? "Typed when the limit lifts"
				: `Typed at ${renderClock(Date.parse(until))}, when the limit lifts`;
		case "over_budget":
			return "Typed when its budget resets";
		case "halted":
		case "login_lost":
			return "Typed after you resume it";
		case "ended":
			return "Typed after you decide what happens next";
		case "stopped":
		case "completed":
			return `Typed when ${id} runs`;
		case "restarting":
		case "starting":
		case "waits_for_dependency":
			return "Typed when it is ready";
		case "working":
		case "stalled":
			return "Typed when its turn ends";
		default:
			return "Typed when it is ready";
	}
}
