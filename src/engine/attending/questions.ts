/**
 * Questions that agents ask the operator, and what agents report. An open question is a pending effect: it outlives
 * the daemon, and an agent that asks it again, after whatever interrupted it, waits on for the same answer.
 */

import { ReeveError } from "../../core/errors.js";
import type { EventMap } from "../../core/events.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";

export interface Question {
	readonly agent: string;
	readonly question: string;
	readonly askedAtMs: number;
}

const keyOf = (agent: string) => `question:${agent}`;
/** Nothing is done about a question by itself. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;

export class Questions {
	readonly #store: Store;
	readonly #clock: Clock;

	constructor(store: Store, clock: Clock) {
		this.#store = store;
		this.#clock = clock;
	}

	/** The open questions of all agents. */
	open(): readonly Question[] {
		return this.#store
			.readEffects()
			.filter(({ type }) => type === "question")
			.map(({ payload }) => payload as Question);
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
		if (this.#openOf(agent)?.question !== data.question) {
			const askedAtMs = this.#clock.now().wallMs;
			const payload: Question = { agent, question: data.question, askedAtMs };
			await this.#store.commit((transaction) => {
				transaction.putEffect({ key: keyOf(agent), type: "question", dueAtMs: NEVER_MS, payload });
				transaction.appendEvent(
					{ agent, correlation_id: correlationId, type: "agent.asked", data },
					askedAtMs,
				);
			});
		}
		return answer;
	}

	/** Answers the open question of an agent. Returns that question. */
	async reply(
		agent: string,
		data: EventMap["agent.replied"],
		correlationId: string,
	): Promise<string> {
		const asked = this.#openOf(agent);
		if (asked === null) throw new ReeveError("no_question", `${agent} has no open question`);
		await this.#store.commit((transaction) => {
			transaction.removeEffect(keyOf(agent));
			transaction.appendEvent(
				{ agent, correlation_id: correlationId, type: "agent.replied", data },
				this.#clock.now().wallMs,
			);
		});
		return asked.question;
	}

	#openOf(agent: string): Question | null {
		return this.open().find((each) => each.agent === agent) ?? null;
	}

	#nextReply(agent: string, waitMs: number, gone: AbortSignal): Promise<string | null> {
		return new Promise((resolve) => {
			const end = (answer: string | null) => {
				stopListening();
				cancel();
				gone.removeEventListener("abort", giveUp);
				resolve(answer);
			};
			const giveUp = () => end(null);
			const stopListening = this.#store.onCommit((events) => {
				for (const event of events) {
					if (event.type === "agent.replied" && event.agent === agent) end(event.data.answer);
				}
			});
			const cancel = this.#clock.schedule(waitMs, giveUp);
			gone.addEventListener("abort", giveUp);
		});
	}
}
