/**
 * The open question of an agent, whatever asks it: its screen, the agent itself through the API, its clean
 * exit, or the loss of its host. One place answers all of them.
 */

import { ReeveError } from "../../core/errors.js";
import { LOST_ANSWERS, type LostAnswer } from "../../core/lease.js";
import {
	type Answerer,
	CLEAN_EXIT_ANSWERS,
	CLEAN_EXIT_LABELS,
	type CleanExitAnswer,
	type OpenQuestion,
} from "../../core/question.js";
import { readScreen } from "../../core/screen.js";
import type { Agents } from "../agents.js";
import type { AgentRunner } from "../runs/agent-runner.js";
import type { AgentSnapshot } from "../runs/agent-state.js";
import type { StartOutcome } from "../runs/life-world.js";
import type { SessionWorld } from "../runs/session-world.js";
import type { LostHosts } from "./lost-hosts.js";
import type { Questions } from "./questions.js";
import { questionOn } from "./report-to-people.js";
import { choiceNotFound, questionGone, type ScreenQuestions } from "./screen-questions.js";

export interface OpenQuestionsWorld {
	readonly agents: Agents;
	readonly sessions: SessionWorld;
	readonly screen: ScreenQuestions;
	readonly asked: Questions;
	readonly lost: LostHosts;
	/** Decides what follows a clean exit. */
	readonly decide: (id: string, answer: CleanExitAnswer) => Promise<StartOutcome>;
}

/** An answer: the number of a choice, what follows a clean exit or the loss of a host, or text. */
export interface GivenAnswer {
	readonly choice?: number | CleanExitAnswer | LostAnswer | undefined;
	readonly text?: string | undefined;
}

export interface AnswerResult {
	readonly label: string;
	/** After a clean exit: the outcome of the start. */
	readonly outcome: StartOutcome | null;
}

type By = Answerer & { readonly correlationId: string };

export class OpenQuestions {
	readonly #world: OpenQuestionsWorld;

	constructor(world: OpenQuestionsWorld) {
		this.#world = world;
	}

	/** Questions on the screen come first: they block the agent. */
	questionOf({ agent, run, lastExit }: AgentSnapshot): OpenQuestion | null {
		const { screen, asked, lost } = this.#world;
		if (agent.waiting) return cleanExitQuestion(agent.id, agent.reason, lastExit);
		const shown =
			(run === null ? lost.questionOf(agent) : null) ?? screen.of(agent.id, run?.runId ?? null);
		return shown ?? asked.openQuestion(agent.id, run?.runId ?? null);
	}

	async answer(id: string, questionId: string, given: GivenAnswer, by: By): Promise<AnswerResult> {
		const question = this.questionOf(this.#world.agents.require(id).snapshot());
		if (question === null || question.id !== questionId) throw questionGone(id);
		switch (question.kind) {
			case "text":
				return this.#reply(question, given, by);
			case "clean_exit":
				return this.#decide(question, given, by);
			case "lost_host":
				return this.#decideLost(question, given, by);
			default:
				return this.#press(question, given, by);
		}
	}

	async #reply(question: OpenQuestion, { text }: GivenAnswer, by: By): Promise<AnswerResult> {
		if (text === undefined) {
			throw new ReeveError("validation_failed", "this question is answered with `text`");
		}
		await this.#world.asked.reply(question.agent, { answer: text }, by.correlationId);
		await this.#world.screen.note(question, { ...by, choice: null, label: text });
		return { label: text, outcome: null };
	}

	async #decide(
		question: OpenQuestion,
		{ choice, text }: GivenAnswer,
		by: By,
	): Promise<AnswerResult> {
		if (text !== undefined || choice === undefined) throw choiceNeeded(question);
		const answer = CLEAN_EXIT_ANSWERS.find((each, at) => choice === each || choice === at + 1);
		if (answer === undefined) throw choiceNotFound(question, choice);
		const outcome = await this.#world.decide(question.agent, answer);
		const label = CLEAN_EXIT_LABELS[answer];
		const number = CLEAN_EXIT_ANSWERS.indexOf(answer) + 1;
		await this.#world.screen.note(question, { ...by, choice: number, label });
		return { label, outcome };
	}

	async #decideLost(
		question: OpenQuestion,
		{ choice, text }: GivenAnswer,
		by: By,
	): Promise<AnswerResult> {
		if (text !== undefined || choice === undefined) throw choiceNeeded(question);
		const at = LOST_ANSWERS.findIndex((each, index) => choice === each || choice === index + 1);
		const [answer, chosen] = [LOST_ANSWERS[at], question.choices[at]];
		if (answer === undefined || chosen === undefined) throw choiceNotFound(question, choice);
		await this.#world.lost.answer(question, answer);
		const { number, label } = chosen;
		await this.#world.screen.note(question, { ...by, choice: number, label });
		return { label, outcome: null };
	}

	async #press(
		question: OpenQuestion,
		{ choice, text }: GivenAnswer,
		by: By,
	): Promise<AnswerResult> {
		// Free text never grants anything.
		if (text !== undefined || typeof choice !== "number") throw choiceNeeded(question);
		const { agent: agentId, id } = question;
		const { agents, sessions, screen } = this.#world;
		const runner = agents.require(agentId);
		const held = runner.session?.held() ?? null;
		const { run } = runner.snapshot();
		const { spec } = runner;
		if (held === null || run === null || spec.kind !== "session") throw questionGone(agentId);
		const profile = sessions.adapterOf(spec).profile.screen;
		if (profile === null) throw questionGone(agentId);
		const { backend, handle } = held;
		const terminal = {
			runId: run.runId,
			backend,
			handle,
			look: async () => {
				const signs = await sessions.signs(spec, conversationOf(runner), handle.startedAtMs);
				const { text, isIncomplete } = await backend.screen(handle);
				if (isIncomplete) throw screenIncomplete(agentId);
				const shown = await questionOn(held, profile, readScreen(profile, text), text);
				return { shown, signs };
			},
		};
		const asked = { agentId, question: id, number: choice };
		const { label } = await screen.answer(terminal, asked, by);
		return { label, outcome: null };
	}
}

function screenIncomplete(agentId: string): ReeveError {
	const message = `output of ${agentId} was lost, and its screen is being drawn again`;
	return new ReeveError("answer_not_taken", message, "Answer again in a moment.");
}

const conversationOf = (runner: AgentRunner) => runner.snapshot().agent.conversation ?? null;

function cleanExitQuestion(
	agent: string,
	reason: string,
	exit: AgentSnapshot["lastExit"],
): OpenQuestion {
	return {
		id: `exit-${exit?.runId ?? agent}`,
		agent,
		runId: exit?.runId ?? null,
		kind: "clean_exit",
		source: "api",
		title: "What happens next?",
		text: reason,
		detail: null,
		choices: CLEAN_EXIT_ANSWERS.map((answer, index) => ({
			number: index + 1,
			label: CLEAN_EXIT_LABELS[answer],
			lasting: false,
		})),
		askedAtMs: exit?.atMs ?? 0,
	};
}

function choiceNeeded({ agent, choices }: OpenQuestion): ReeveError {
	const known = choices.map((each) => `${each.number} (${each.label})`).join(", ");
	const hint = known === "" ? `Answer in its terminal: \`reeve attach ${agent}\`.` : undefined;
	const message = "this question is answered with a choice, not with text";
	return new ReeveError("choice_needed", message, hint ?? `Choices: ${known}.`);
}
