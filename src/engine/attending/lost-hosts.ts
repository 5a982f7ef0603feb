/**
 * Questions about agents with `on_lost: ask` whose host is lost: whether another host replaces them. Every host that
 * could run the agent shows the question; the answer that reaches the database first counts for all.
 */

import { LOST_ANSWERS, type LostAnswer } from "../../core/lease.js";
import type { OpenQuestion } from "../../core/question.js";
import type { Clock } from "../../ports/clock.js";
import type { Leases, PlacementView } from "../../ports/leases.js";
import type { NewEvent, Store } from "../../ports/store.js";
import { placementOf } from "../placement.js";
import type { Agent } from "../runs/agent-state.js";
import { questionGone } from "./screen-questions.js";

export class LostHosts {
	readonly #leases: Leases;
	readonly #store: Store;
	readonly #clock: Clock;

	constructor(leases: Leases, store: Store, clock: Clock) {
		this.#leases = leases;
		this.#store = store;
		this.#clock = clock;
	}

	/** Null unless an operator has to decide about this agent. */
	questionOf({ id, desired, spec }: Agent): OpenQuestion | null {
		if (desired !== "up") return null;
		const placement = placementOf(this.#leases, spec);
		return placement === null ? null : lostQuestion(id, placement);
	}

	/** Reports a question; people are notified by one host. */
	async asked(agent: Agent, notifies: boolean): Promise<void> {
		const question = this.questionOf(agent);
		if (question === null) return;
		const { kind, title, text } = question;
		const choices = question.choices.map(({ label }) => label);
		const data = { question: question.id, kind, text, choices };
		const about = { agent: agent.id };
		await this.#note([
			{ ...about, type: "agent.question_asked", data: { ...data, title } },
			...(notifies
				? [{ ...about, type: "agent.asks", data: { ...data, detail: null } } as const]
				: []),
		]);
	}

	async gone(agent: string, epoch: number): Promise<void> {
		await this.#note([
			{ agent, type: "agent.question_gone", data: { question: questionId(epoch) } },
		]);
	}

	/** Throws if the question is no longer open. */
	async answer(question: OpenQuestion, answer: LostAnswer): Promise<void> {
		const epoch = Number(question.id.slice(PREFIX.length));
		if (await this.#leases.answerLost(question.agent, epoch, answer)) return;
		throw questionGone(question.agent);
	}

	async #note(events: readonly NewEvent[]): Promise<void> {
		const atMs = this.#clock.now().wallMs;
		await this.#store.commit((transaction) => {
			for (const event of events) transaction.appendEvent(event, atMs);
		});
	}
}

const PREFIX = "lost-";
const questionId = (epoch: number) => `${PREFIX}${epoch}`;

function lostQuestion(
	agent: string,
	{ host, epoch, asksSinceMs }: PlacementView,
): OpenQuestion | null {
	if (asksSinceMs === null || epoch === null) return null;
	const labels: Readonly<Record<LostAnswer, string>> = {
		wait: `Wait for ${host}`,
		replace: "Start it on another host",
	};
	return {
		id: questionId(epoch),
		agent,
		runId: null,
		kind: "lost_host",
		source: "api",
		title: "What happens next?",
		text: `Its host ${host} is lost. The files and the conversation of the agent are there.`,
		detail: null,
		choices: LOST_ANSWERS.map((answer, index) => ({
			...{ number: index + 1, label: labels[answer], lasting: false },
		})),
		askedAtMs: asksSinceMs,
	};
}
