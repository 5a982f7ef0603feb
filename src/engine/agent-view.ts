/** An agent as it is shown: with what holds it, and without secrets. */

import type { OpenQuestion } from "../core/question.js";
import type { PlacementView } from "../ports/leases.js";
import type { FinishedTurn } from "./attending/finished-turns.js";
import type { FileWatchView } from "./file-watches.js";
import type { Hold } from "./limits/accounts.js";
import type { UsageView } from "./limits/usage-book.js";
import type { AgentSnapshot } from "./runs/agent-state.js";

export interface AgentView extends AgentSnapshot {
	/** The agents that it waits for before it may start. */
	readonly missing: readonly string[];
	/** Why one of them will not be ready or complete by itself, as text; null if all may. */
	readonly blocked: string | null;
	/** The usage limit that holds it; null if there is none. */
	readonly hold: Hold | null;
	/** Null for an agent that does not report it. */
	readonly usage: UsageView | null;
	/** Its open question; null if there is none. */
	readonly question: OpenQuestion | null;
	/** Its last completed turn; null if there is none, or another one has started. */
	readonly finished: FinishedTurn | null;
	/** The number of messages that could not be delivered. */
	readonly undelivered: number;
	/** Its watched files; null if none are watched. */
	readonly fileWatch: FileWatchView | null;
	/** Where it runs, if it may run on several hosts; null otherwise. */
	readonly placement: PlacementView | null;
}

/*
 * Every `reeve ps` makes hundreds of these. Without spreads, since V8 makes an object to which fields are added after one
 * many times slower than a literal; and without copies where nothing is redacted.
 */

export function viewOf(
	snapshot: AgentSnapshot,
	wantsStart: boolean,
	hold: Hold | null,
	others: Pick<
		AgentView,
		| "missing"
		| "blocked"
		| "usage"
		| "question"
		| "finished"
		| "undelivered"
		| "fileWatch"
		| "placement"
	>,
): AgentView {
	const { missing, blocked, usage, question, finished, undelivered, fileWatch } = others;
	const { placement } = others;
	const waits = snapshot.run === null && wantsStart;
	const isAway = waits && placement !== null && placement.state !== "held";
	// It has requested a start that is held.
	const isHeld = hold !== null && waits;
	return {
		agent: snapshot.agent,
		process: isHeld || isAway ? "stopped" : snapshot.process,
		run: snapshot.run,
		processes: snapshot.processes,
		ready: snapshot.ready,
		gone: snapshot.gone,
		known: snapshot.known,
		health: snapshot.health,
		hibernation: snapshot.hibernation,
		lastExit: snapshot.lastExit,
		nextStartAtMs: isHeld ? hold.untilMs : snapshot.nextStartAtMs,
		missing,
		blocked,
		hold,
		usage,
		question,
		finished,
		undelivered,
		fileWatch,
		placement,
	};
}

type Redact = (text: string) => string;

/** A view without secrets that the agent has printed: memory contains its original text (A10). */
export function redactView(view: AgentView, redact: Redact): AgentView {
	const { agent, blocked, lastExit, known, health, hold, question, finished } = view;
	const shown = {
		agent: withReason(agent, redact),
		blocked: blocked === null ? null : redact(blocked),
		lastExit: lastExit === null ? null : withReason(lastExit, redact),
		health:
			health?.last?.error == null
				? health
				: { ...health, last: { ...health.last, error: redact(health.last.error) } },
		known:
			known === null || known.detail === null ? known : { ...known, detail: redact(known.detail) },
		hold: hold === null ? null : withReason(hold, redact),
		question: question === null ? null : redactQuestion(question, redact),
		finished:
			finished === null || finished.text === null
				? finished
				: { ...finished, text: redact(finished.text) },
	};
	const keys = Object.keys(shown) as (keyof typeof shown)[];
	return keys.every((key) => shown[key] === view[key]) ? view : { ...view, ...shown };
}

function withReason<T extends { readonly reason: string }>(row: T, redact: Redact): T {
	const reason = redact(row.reason);
	return reason === row.reason ? row : { ...row, reason };
}

function redactQuestion(question: OpenQuestion, redact: Redact): OpenQuestion {
	const { title, text, detail, choices } = question;
	return {
		...question,
		title: redact(title),
		text: redact(text),
		detail: detail === null ? null : redact(detail),
		choices: choices.map((each) => ({ ...each, label: redact(each.label) })),
	};
}
