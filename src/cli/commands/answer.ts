/** `reeve answer`: shows the open questions of agents, and answers one. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { plainLine, safeText } from "../../core/safe-text.js";
import type { AgentQuestionJson } from "../../http/contract/attention.js";
import type { Routes } from "../../http/contract/routes.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { resolveAgent } from "../resolve.js";
import { isFailedStart, START_WORDS } from "../start-report.js";

const ROUTE = "POST /api/v1/agents/:id/questions/:question/answer";
type Body = Routes[typeof ROUTE]["body"];

interface Options {
	readonly question?: string;
	readonly json?: boolean;
}

/** The names of choices, in order. */
const NAMES = {
	clean_exit: ["continue", "fresh", "stop"],
	lost_host: ["wait", "replace"],
} as const;

export async function runAnswer(
	name: string | undefined,
	answer: string | undefined,
	options: Options,
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	if (name === undefined) return listQuestions(client, options, output);
	const id = await resolveAgent(name, client);
	const { question = null } = await client.call("GET /api/v1/agents/:id", { place: id });
	if (answer === undefined) return showQuestion(id, question, options, output);
	if (question === null) {
		throw new ReeveError("not_waiting", `${id} has no open question`);
	}
	const body = bodyOf(id, question, answer);
	const place = [id, options.question ?? question.id];
	const { label, outcome } = await client.call(ROUTE, { place, body });
	if (options.json) output.json({ id, question: place[1], answer: body.choice ?? label, outcome });
	else output.result(`${id}: ${renderOutcome(label, outcome)}`);
	return outcome !== null && isFailedStart(outcome) ? CLI_EXIT.failed : CLI_EXIT.done;
}

function renderOutcome(label: string, outcome: Routes[typeof ROUTE]["reply"]["outcome"]): string {
	return outcome === null ? `answered \`${plainLine(label)}\`` : START_WORDS[outcome];
}

async function listQuestions(client: Client, options: Options, output: Output): Promise<number> {
	const { agents } = await client.call("GET /api/v1/agents");
	const asking = agents.flatMap(({ id, question }) => (question ? [{ agent: id, question }] : []));
	if (options.json) output.json(asking);
	else if (asking.length === 0) output.note("no open questions");
	for (const { agent, question } of options.json ? [] : asking) {
		output.result(`${agent}: ${plainLine(question.text)}`);
	}
	if (asking.length > 0) output.note("hint: `reeve answer AGENT` shows a question and its choices");
	return CLI_EXIT.done;
}

function showQuestion(
	id: string,
	question: AgentQuestionJson | null,
	options: Options,
	output: Output,
): number {
	if (options.json) output.json({ id, question });
	else if (question === null) output.note(`${id} has no open question`);
	else for (const line of renderQuestion(id, question)) output.result(line);
	if (!options.json && question !== null) output.note(`hint: ${howToAnswer(id, question)}`);
	return CLI_EXIT.done;
}

function renderQuestion(id: string, question: AgentQuestionJson): readonly string[] {
	const { title, text, detail, choices } = question;
	const about = detail === null ? [] : safeText(detail).split("\n");
	return [
		`${id}: ${plainLine(text)}`,
		...about.map((line) => `  ${line}`),
		...(title === text || title === "" ? [] : [`  ${plainLine(title)}`]),
		...choices.map(({ number, label, lasting }) => {
			const stays = lasting ? " (stays allowed from now on)" : "";
			return `  ${number}. ${plainLine(label)}${stays}`;
		}),
	];
}

function howToAnswer(id: string, { kind, choices }: AgentQuestionJson): string {
	if (kind === "text") return `answer with \`reeve answer ${id} TEXT\``;
	const names = namesOf(kind);
	if (names.length > 0) return `answer with \`reeve answer ${id} ${names.join("|")}\``;
	if (choices.length === 0) return `answer in its terminal: \`reeve attach ${id}\``;
	const numbers = choices.map(({ number }) => number).join("|");
	return `answer with \`reeve answer ${id} ${numbers}\``;
}

function namesOf(
	kind: AgentQuestionJson["kind"],
): readonly (typeof NAMES)[keyof typeof NAMES][number][] {
	return kind === "clean_exit" || kind === "lost_host" ? NAMES[kind] : [];
}

/** A choice is given by its number or its whole label: similar text grants nothing. */
function bodyOf(id: string, question: AgentQuestionJson, answer: string): Body {
	const { kind, choices } = question;
	if (kind === "text") return { text: answer };
	const name = namesOf(kind).find((each) => each === answer.toLowerCase());
	if (name !== undefined) return { choice: name };
	const isNumber = /^\d{1,2}$/.test(answer);
	const chosen = choices.find(({ number, label }) =>
		isNumber ? number === Number(answer) : label.toLowerCase() === answer.toLowerCase(),
	);
	if (chosen !== undefined) return { choice: chosen.number };
	const hint = `Run \`reeve answer ${id}\` to see the question; ${howToAnswer(id, question)}.`;
	const message = `the question of ${id} has no choice \`${plainLine(answer)}\``;
	throw new ReeveError(isNumber ? "choice_not_found" : "choice_needed", message, hint);
}
