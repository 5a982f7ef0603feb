/**
 * The questions that agents' CLIs show on their screens. An open question is stored with an id
 * that is bound to its run, its content and the CLI's own report of it, so an answer never reaches
 * another question, and a later daemon knows the same ones.
 */

import { createHash } from "node:crypto";
import { ReeveError } from "../../core/errors.js";
import type { Answerer, OpenQuestion, QuestionChoice } from "../../core/question.js";
import type { ShownQuestion } from "../../core/question-screen.js";
import type { AgentSign } from "../../core/sign.js";
import type { QuestionAnswer, StoredScreenQuestion } from "../../ports/agent-store.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent, Store } from "../../ports/store.js";
import { createMailbox, type Mailbox } from "../mailbox.js";
import { pressChoice } from "./press-choice.js";
import type { Typing } from "./typing.js";

/** One reading of the screen of a run. */
export interface QuestionObservation {
	readonly agentId: string;
	readonly runId: string;
	/** From `mark`, before the screen was read. */
	readonly mark: number;
	readonly shown: ShownQuestion | null;
	readonly signs: readonly AgentSign[];
}

/** How an open question is answered: the terminal of its run. */
export interface QuestionTerminal {
	readonly runId: string;
	readonly backend: Backend;
	readonly handle: RunHandle;
	/** The question on a fresh screen, and the reports of the CLI at that moment. */
	readonly look: () => Promise<Pick<QuestionObservation, "shown" | "signs">>;
}

/** The content of the last screen, since how many looks, and when another one was last seen (wall time). */
interface Seen {
	readonly hash: string | null;
	readonly looks: number;
	readonly atMs: number;
	readonly otherAtMs: number | null;
}

/** The record of a hook may arrive this much later than the screen. */
const HOOK_LAG_MS = 2_000;
/** A question must be on this many consecutive screens, and be missing from as many. */
const LOOKS = 2;

export class ScreenQuestions {
	readonly #store: Store;
	readonly #clock: Clock;
	readonly #typing: Typing;
	readonly #open = new Map<string, StoredScreenQuestion>();
	/** The content of the last screens, before it counts. */
	readonly #seen = new Map<string, Seen>();
	/** Grows when an answer begins and ends: a screen from before that is outdated. */
	readonly #marks = new Map<string, number>();
	readonly #answers = new Map<string, Mailbox>();

	constructor(store: Store, clock: Clock, typing: Typing) {
		this.#store = store;
		this.#clock = clock;
		this.#typing = typing;
	}

	/** Restores the questions that an earlier daemon found. */
	recover(): void {
		for (const kept of this.#store.readScreenQuestions()) {
			this.#open.set(kept.question.agent, kept);
		}
	}

	/** The open question of a run; null if there is none. */
	of(agentId: string, runId: string | null): OpenQuestion | null {
		const question = this.#open.get(agentId)?.question;
		return question !== undefined && question.runId === runId ? question : null;
	}

	mark(agentId: string): number {
		return this.#marks.get(agentId) ?? 0;
	}

	/** Opens and closes questions by what the screen shows. */
	async observe(look: QuestionObservation): Promise<void> {
		const { agentId, shown } = look;
		if (look.mark !== this.mark(agentId) || look.mark % 2 === 1) return;
		const hash = shown === null ? null : hashOf(shown.key);
		const before = this.#seen.get(agentId);
		const looks = before?.hash === hash ? before.looks + 1 : 1;
		const otherAtMs = looks === 1 ? (before?.atMs ?? null) : (before?.otherAtMs ?? null);
		this.#seen.set(agentId, { hash, looks, otherAtMs, atMs: this.#clock.now().wallMs });
		const kept = this.#open.get(agentId);
		if (kept !== undefined && shown !== null && isSame(kept, look)) {
			const { anchor, sign } = anchorOf(look.signs, shown);
			if (kept.anchor === anchor) return;
			return this.#put({ ...kept, anchor, question: withReport(kept.question, sign) }, []);
		}
		if (looks < LOOKS || (shown === null && kept === undefined)) return;
		const closed = kept === undefined ? [] : [closingOf(kept)];
		if (shown === null) return this.#remove(agentId, closed);
		const next = this.#keep(look, shown, kept?.anchor ?? null);
		await this.#put(next, [...closed, askedEvent(next.question)]);
	}

	/** An agent was removed. */
	async forget(agentId: string): Promise<void> {
		if (this.#open.has(agentId)) await this.#remove(agentId, []);
	}

	/** Records who answered a question that is not on a screen. */
	async note(question: OpenQuestion, answering: QuestionAnswer): Promise<void> {
		await this.#store.commit((transaction) =>
			transaction.appendEvent(answeredEvent(question, answering, true), this.#clock.now().wallMs),
		);
	}

	/** Answers the question with this id; resolves once it has left the screen. */
	answer(
		terminal: QuestionTerminal,
		asked: { readonly agentId: string; readonly question: string; readonly number: number },
		by: Answerer & { readonly correlationId: string },
	): Promise<QuestionChoice> {
		const { agentId } = asked;
		const answers = this.#answers.get(agentId) ?? createMailbox();
		this.#answers.set(agentId, answers);
		return answers.run(async () => {
			this.#marks.set(agentId, this.mark(agentId) + 1);
			try {
				return await this.#answer(terminal, asked, by);
			} finally {
				this.#marks.set(agentId, this.mark(agentId) + 1);
			}
		});
	}

	async #answer(
		terminal: QuestionTerminal,
		asked: { readonly agentId: string; readonly question: string; readonly number: number },
		{ by, who, correlationId }: Answerer & { readonly correlationId: string },
	): Promise<QuestionChoice> {
		const { agentId, number } = asked;
		const kept = this.#open.get(agentId);
		if (kept?.question.id !== asked.question || kept.question.runId !== terminal.runId) {
			throw questionGone(agentId);
		}
		const choice = kept.question.choices.find((each) => each.number === number);
		if (choice === undefined) throw choiceNotFound(kept.question, number);
		const { label } = choice;
		const answering: QuestionAnswer = { by, who, choice: number, label, correlationId };
		// Stored before the first key, so that a daemon that dies in between leaves no unexplained answer.
		await this.#put({ ...kept, answering }, []);
		const pressed = await pressChoice({
			backend: terminal.backend,
			handle: terminal.handle,
			clock: this.#clock,
			look: async () => {
				const look = { ...(await terminal.look()), agentId, runId: terminal.runId, mark: 0 };
				return look.shown !== null && isSame(kept, look) ? look.shown : null;
			},
			wanted: kept.question.choices.indexOf(choice),
			typed: () => this.#typing.count(agentId),
			quietForMs: () => this.#typing.quietForMs(agentId),
			isUnsure: kept.answering !== null,
		});
		if (pressed === "answered") {
			await this.#remove(agentId, [answeredEvent(kept.question, answering, true)]);
			return choice;
		}
		if (pressed === "gone") {
			await this.#remove(agentId, [closingOf(kept)]);
			throw questionGone(agentId);
		}
		if (pressed === "in_use") {
			await this.#put(kept, []);
			throw new ReeveError("terminal_in_use", `a person is typing at the terminal of ${agentId}`);
		}
		// A confirmed choice may still take effect, so its record stays.
		if (!pressed.confirmed) await this.#put(kept, []);
		const what = pressed.confirmed ? "the question is still there" : "the selection did not move";
		throw new ReeveError("answer_not_taken", `${agentId} did not react to the keys: ${what}`);
	}

	#keep(
		{ agentId, runId, signs }: QuestionObservation,
		shown: ShownQuestion,
		anchorBefore: string | null,
	): StoredScreenQuestion {
		const hash = hashOf(shown.key);
		const { anchor, sign } = anchorOf(signs, shown);
		const nowMs = this.#clock.now().wallMs;
		// A similar question before this one may have been reported, and this one not.
		const otherAtMs = this.#seen.get(agentId)?.otherAtMs ?? 0;
		const isNew = anchor !== anchorBefore && (sign?.atMs ?? 0) >= otherAtMs - HOOK_LAG_MS;
		const reported = isNew ? sign : null;
		const askedAtMs = reported?.question === undefined ? nowMs : reported.atMs;
		const id = hashOf(`${runId} ${hash} ${anchor ?? ""} ${askedAtMs}`);
		const { kind, title, text, detail, choices } = shown;
		const question: OpenQuestion = {
			id,
			agent: agentId,
			runId,
			kind,
			title,
			text,
			detail,
			choices,
			askedAtMs,
			source: "screen",
		};
		return { question: withReport(question, reported), hash, anchor, answering: null };
	}

	async #put(kept: StoredScreenQuestion, events: readonly NewEvent[]): Promise<void> {
		const { agent } = kept.question;
		await this.#store.commit((transaction) => {
			transaction.putScreenQuestion(kept);
			for (const event of events) transaction.appendEvent(event, this.#clock.now().wallMs);
		});
		this.#open.set(agent, kept);
	}

	async #remove(agentId: string, events: readonly NewEvent[]): Promise<void> {
		await this.#store.commit((transaction) => {
			transaction.removeScreenQuestion(agentId);
			for (const event of events) transaction.appendEvent(event, this.#clock.now().wallMs);
		});
		this.#open.delete(agentId);
		this.#seen.delete(agentId);
	}
}

function hashOf(text: string): string {
	return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** The CLI's own report of the shown question, or of the tool that it wants to run. */
function anchorOf(
	signs: readonly AgentSign[],
	shown: ShownQuestion,
): { readonly anchor: string | null; readonly sign: AgentSign | null } {
	const sign =
		signs.findLast(({ question }) => question !== undefined && isAbout(question.text, shown)) ??
		signs.findLast(({ inTool }) => inTool === true) ??
		null;
	return { anchor: sign === null ? null : `${sign.name} ${sign.atMs}`, sign };
}

const SUBJECT_LENGTH = 30;

/** Whether a report is about the shown question: an older report must never explain another question. */
function isAbout(reported: string, { key }: ShownQuestion): boolean {
	const squash = (text: string) => text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
	const subject = squash(reported.replace(/^\w+: /u, "")).slice(0, SUBJECT_LENGTH);
	return squash(key).includes(subject);
}

/** Whether a reading of the screen shows the kept question: the same run, content and report. */
function isSame(
	{ question, hash, anchor }: StoredScreenQuestion,
	look: QuestionObservation,
): boolean {
	if (question.runId !== look.runId || look.shown === null) return false;
	if (hashOf(look.shown.key) !== hash) return false;
	const now = anchorOf(look.signs, look.shown);
	if (now.anchor === anchor) return true;
	if (now.sign === null) return false;
	const { question: reported, atMs } = now.sign;
	const isLater = atMs > question.askedAtMs + HOOK_LAG_MS;
	// The first report of a question may be read after the question itself; a second one is another question.
	return !isLater && (reported === undefined || question.source === "screen");
}

/** The report of the CLI is more precise than its screen. */
function withReport(question: OpenQuestion, sign: AgentSign | null): OpenQuestion {
	if (sign?.question === undefined) return question;
	const { kind, text } = sign.question;
	// A report may name no subject; the screen does.
	return { ...question, kind, text: text || question.text, source: "hook" };
}

function askedEvent(question: OpenQuestion): NewEvent {
	const { agent, runId, id, kind, title, text } = question;
	const choices = question.choices.map(({ label }) => label);
	const data = { question: id, kind, title, text, choices };
	return { type: "agent.question_asked", agent, ...(runId && { run_id: runId }), data };
}

function answeredEvent(
	{ agent, runId, id }: OpenQuestion,
	{ choice, label, by, who, correlationId }: QuestionAnswer,
	confirmed: boolean,
): NewEvent {
	const data = { question: id, choice, answer: label, by, who, confirmed };
	const about = { agent, ...(runId && { run_id: runId }), correlation_id: correlationId };
	return { type: "agent.question_answered", ...about, data };
}

/** The question left the screen: by an answer of Reeve whose effect was not seen, or without one. */
function closingOf({ question, answering }: StoredScreenQuestion): NewEvent {
	if (answering !== null) return answeredEvent(question, answering, false);
	const { agent, runId, id } = question;
	const data = { question: id };
	return { type: "agent.question_gone", agent, ...(runId && { run_id: runId }), data };
}

export function questionGone(agentId: string): ReeveError {
	return new ReeveError("question_gone", `this question of ${agentId} is no longer open`);
}

export function choiceNotFound(
	{ agent, choices }: OpenQuestion,
	given: number | string,
): ReeveError {
	const known = choices.map((each) => `${each.number} (${each.label})`).join(", ");
	const hint =
		known === ""
			? `Its choices cannot be read: answer in its terminal with \`reeve attach ${agent}\`.`
			: `Choices: ${known}.`;
	return new ReeveError("choice_not_found", `the question has no choice ${given}`, hint);
}
