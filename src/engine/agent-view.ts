/** An agent as it is shown: with what holds it, and without secrets. */

import type { OpenQuestion } from "../core/question.js";
import type { FinishedTurn } from "./attending/finished-turns.js";
import type { FileWatchView } from "./file-watches.js";
import type { Hold } from "./limits/accounts.js";
import type { UsageView } from "./limits/usage-book.js";
import type { AgentSnapshot, KnownAgent } from "./runs/agent-state.js";

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
}

export function viewOf(
	agent: KnownAgent,
	missing: readonly string[],
	hold: Hold | null,
	others: Pick<
		AgentView,
		"blocked" | "usage" | "question" | "finished" | "undelivered" | "fileWatch"
	>,
): AgentView {
	const snapshot = agent.snapshot();
	const view = { ...snapshot, missing, hold, ...others };
	if (hold === null || snapshot.run !== null || !agent.wantsStart) return view;
	// It has requested a start that is held.
	return { ...view, process: "stopped", nextStartAtMs: hold.untilMs };
}

/** A view without secrets that the agent has printed: memory contains its original text (A10). */
export function redactView(view: AgentView, redact: (text: string) => string): AgentView {
	const { agent, lastExit, known, health, hold, question, finished } = view;
	const withReason = <T extends { readonly reason: string }>(row: T): T => ({
		...row,
		reason: redact(row.reason),
	});
	return {
		...view,
		agent: withReason(agent),
		blocked: view.blocked === null ? null : redact(view.blocked),
		lastExit: lastExit === null ? null : withReason(lastExit),
		health:
			health?.last?.error == null
				? health
				: { ...health, last: { ...health.last, error: redact(health.last.error) } },
		known:
			known === null || known.detail === null ? known : { ...known, detail: redact(known.detail) },
		hold: hold === null ? null : withReason(hold),
		question: question === null ? null : redactQuestion(question, redact),
		finished:
			finished === null || finished.text === null
				? finished
				: { ...finished, text: redact(finished.text) },
	};
}

function redactQuestion(question: OpenQuestion, redact: (text: string) => string): OpenQuestion {
	const { title, text, detail, choices } = question;
	return {
		...question,
		title: redact(title),
		text: redact(text),
		detail: detail === null ? null : redact(detail),
		choices: choices.map((each) => ({ ...each, label: redact(each.label) })),
	};
}
