/** The pane of `reeve top` about the selected agent: its question with the choices, or why and the next step. Pure. */

import { type AgentStatusState, repeatsState, STATUS_STYLES } from "../../core/agent-status.js";
import { plainLine } from "../../core/safe-text.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { cutText, type Line, textWidth, wrapText } from "./frame.js";
import { selectedAgent, type TopState } from "./model.js";
import {
	localTimes,
	renderAge,
	renderClock,
	renderCountdown,
	renderTook,
	type Theme,
} from "./words.js";

/** The terminal that is drawn on. */
export interface View {
	readonly columns: number;
	readonly rows: number;
	readonly nowMs: number;
	readonly look: Theme;
}

export const BOLD = "1";
export const DIM = "90";
const PANE_ROWS = 6;
const TABLE_ROWS_MIN = 5;

/** The pane with its title. It grows for a question: its choices are never cut if there is room for them. */
export function paneRowsOf(state: TopState, view: View): number {
	const { rows } = view;
	if (rows < 14) return 0;
	const usual = rows < 20 ? 4 : Math.max(PANE_ROWS + 1, Math.min(13, Math.floor(rows / 4)));
	const agent = selectedAgent(state);
	const asked = agent?.question ? questionLines(agent, view).length + 1 : 0;
	return Math.max(usual, Math.min(asked, rows - 3 - TABLE_ROWS_MIN));
}

/** The question of the selected agent with its choices, or why and the next step. */
export function* drawPane(state: TopState, view: View, rows: number): Generator<Line> {
	const { columns, nowMs } = view;
	const agent = selectedAgent(state);
	const rule = (text: string) => "─".repeat(Math.max(0, columns - textWidth(text)));
	if (agent === null) {
		yield [{ text: rule(""), sgr: DIM }];
		return;
	}
	const { status, question } = agent;
	const since =
		status.since === null ? "" : ` · since ${renderClock(Date.parse(status.since), nowMs)}`;
	const source = status.source === null ? "" : ` · by ${status.source}`;
	const word = ` ${STATUS_STYLES[status.state].word.toLowerCase()}${since}${source} `;
	const id = cutText(plainLine(agent.id), columns - 30, "…");
	yield [
		{ text: "── ", sgr: DIM },
		{ text: id, sgr: BOLD },
		{ text: word, sgr: DIM },
		{ text: rule(`── ${id}${word}`), sgr: DIM },
	];
	const lines = question === null ? aboutLines(agent, view) : questionLines(agent, view);
	const room = rows - 1;
	const fits = lines.length <= room;
	yield* fits ? lines : lines.slice(0, room - 1);
	if (!fits)
		yield [{ text: `   ${lines.length - room + 1} more lines: Enter shows all`, sgr: DIM }];
}

function questionLines({ question }: AgentJson, { columns, look }: View): readonly Line[] {
	if (question === null) return [];
	const wrap = (text: string, indent: number, sgr: string): Line[] =>
		wrapText(plainLine(text), columns - indent - 1).map((line) => [
			{ text: " ".repeat(indent) },
			{ text: line, sgr },
		]);
	const choices = question.choices.flatMap(({ number, label, lasting }): Line[] => {
		const [first = "", ...more] = wrapText(plainLine(label), columns - 7);
		return [
			[{ text: "   " }, { text: String(number), sgr: "4" }, { text: ` ${first}` }],
			...more.map((line): Line => [{ text: `     ${line}` }]),
			...(lasting ? [[{ text: "     stays allowed from now on", sgr: look.tone("amber") }]] : []),
		];
	});
	return [
		...wrap(question.text === "" ? question.title : question.text, 3, BOLD),
		...(question.detail === null || question.detail === question.text
			? []
			: wrap(question.detail, 3, DIM)),
		...choices,
	];
}

/** The next step of states that a person can change. */
const NEXT: Readonly<Partial<Record<AgentStatusState, string>>> = {
	asks_permission: "answer in its terminal (a)",
	asks_you: "answer in its terminal (a)",
	halted: "fix the cause, then resume it (u)",
	login_lost: "log in with its CLI, then resume it (u)",
	over_budget: "it waits for the next day, or continues when you resume it (u)",
	circuit_open: "one call is allowed at that time; close the circuit (u) to allow all",
	stalled: "look at its terminal (a); it may wait for something",
	dead_letters: "`reeve dead-letters ls` lists them; replay or discard each",
	finished: "write a message (m), or mark it as seen (x)",
	hibernated: "a message (m) or its terminal (a) starts it",
	completed: "nothing: its work is done",
	stopped: "nothing until `reeve up` or a restart (R) starts it",
};

function aboutLines(agent: AgentJson, { columns, nowMs }: View): readonly Line[] {
	const { status, last_exit: exit, next_restart_at: next } = agent;
	const why = status.why === "" ? agent.reason : status.why;
	const isKnown = exit?.reason === why || exit?.reason === agent.reason;
	const facts = [
		plainLine(why),
		...(agent.reason === why || repeatsState("running", agent.reason)
			? []
			: [plainLine(agent.reason)]),
		...(next === null ? [] : [`Starts again in ${renderCountdown(Date.parse(next) - nowMs)}.`]),
		...(next !== null || NEXT[status.state] === undefined ? [] : [`Next: ${NEXT[status.state]}`]),
		...(exit === null
			? []
			: [
					`Last exit ${renderAge(nowMs - Date.parse(exit.at))} ago, after ${renderTook(exit.uptime_ms)}${isKnown ? "." : `: ${plainLine(exit.reason)}`}`,
				]),
	];
	return facts.flatMap((fact) =>
		wrapText(localTimes(fact, nowMs), columns - 4).map((line): Line => [{ text: `   ${line}` }]),
	);
}
