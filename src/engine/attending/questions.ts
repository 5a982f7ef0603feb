/**
 * Questions that agents ask the operator, and what agents report. An open question is stored: it outlives
 * the daemon, and an agent that asks it again after an interruption waits for the same answer.
 */

import { createHash } from "node:crypto";
import { ReeveError } from "../../core/errors.js";
import type { EventMap } from "../../core/events.js";
import type { OpenQuestion } from "../../core/question.js";
import type { StoredQuestion } from "../../ports/agent-store.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";

export class Questions {
	readonly #store: Store;
	readonly #clock: Clock;
	/** Agents repeat secrets in their questions too (A10). */
	readonly #redact: (text: string) => string;
	readonly #open = new Map<string, StoredQuestion>();
	/** The callers that wait for an answer, by agent. */
	readonly #waiting = new Map<string, Set<(answer: string) => void>>();

	constructor(store: Store, clock: Clock, redact: (text: string) => string) {
		this.#store = store;
		this.#clock = clock;
		this.#redact = redact;
	}

	/** Restores the questions that were open under an earlier daemon. */
	recover(): void {
		for (const question of this.#store.readQuestions()) this.#open.set(question.agent, question);
	}

	/** The open questions of all agents. */
	open(): readonly StoredQuestion[] {
		return [...this.#open.values()].map((each) => ({
			...each,
			question: this.#redact(each.question),
		}));
	}

	/** The open question of an agent, as one that any client can answer; null if there is none. */
	openQuestion(agent: string, runId: string | null): OpenQuestion | null {
		const asked = this.#open.get(agent);
		if (asked === undefined) return null;
		const { question, askedAtMs } = asked;
		const id = `ask-${createHash("sha256").update(`${askedAtMs} ${question}`).digest("hex").slice(0, 16)}`;
		return {
			id,
			agent,
			runId,
			kind: "text",
			source: "api",
			askedAtMs,
			title: question,
			text: question,
			detail: null,
			choices: [],
		};
	}

	/** Records what an agent reports about its work. */
	async report(
		agent: string,
		data: EventMap["agent.reported"],
		correlationId: string,
	): Promise<void> {
		await this.#store.commit((transaction) =>
			transaction.appendEvent(
				{ agent, correlation_id: correlationId, type: "agent.reported", data },
				this.#clock.now().wallMs,
			),
		);
	}

	/** Asks unless the same question is open, and waits for the answer; null when there is none in time. */
	async ask(
		agent: string,
		data: EventMap["agent.asked"],
		{ waitMs, gone, correlationId }: { waitMs: number; gone: AbortSignal; correlationId: string },
	): Promise<string | null> {
		const answer = this.#nextReply(agent, waitMs, gone);
		const question = this.#redact(data.question);
		if (this.#open.get(agent)?.question !== question) {
			const askedAtMs = this.#clock.now().wallMs;
			const asked = { agent, question, askedAtMs };
			await this.#store.commit((transaction) => {
				transaction.putQuestion(asked);
				transaction.appendEvent(
					{ agent, correlation_id: correlationId, type: "agent.asked", data },
					askedAtMs,
				);
			});
			this.#open.set(agent, asked);
		}
		return answer;
	}

	/** Answers the open question of an agent. Returns that question. */
	async reply(
		agent: string,
		data: EventMap["agent.replied"],
		correlationId: string,
	): Promise<string> {
		const asked = this.#open.get(agent);
		if (asked === undefined) throw new ReeveError("no_question", `${agent} has no open question`);
		await this.#store.commit((transaction) => {
			transaction.removeQuestion(agent);
			transaction.appendEvent(
				{ agent, correlation_id: correlationId, type: "agent.replied", data },
				this.#clock.now().wallMs,
			);
		});
		this.#open.delete(agent);
		// Not from the event, which contains no secrets: the operator may answer with one.
		for (const take of this.#waiting.get(agent) ?? []) take(data.answer);
		return asked.question;
	}

	#nextReply(agent: string, waitMs: number, gone: AbortSignal): Promise<string | null> {
		return new Promise((resolve) => {
			const waiting = this.#waiting.get(agent) ?? new Set();
			this.#waiting.set(agent, waiting);
			const end = (answer: string | null) => {
				waiting.delete(end);
				if (waiting.size === 0) this.#waiting.delete(agent);
				cancel();
				gone.removeEventListener("abort", giveUp);
				resolve(answer);
			};
			const giveUp = () => end(null);
			waiting.add(end);
			const cancel = this.#clock.schedule(waitMs, giveUp);
			gone.addEventListener("abort", giveUp);
		});
	}
}
