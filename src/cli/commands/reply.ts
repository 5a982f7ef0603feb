/** `reeve reply`: answers an agent's question. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { plainLine } from "../../core/safe-text.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { resolveAgent } from "../resolve.js";

export async function runReply(
	agent: string | undefined,
	text: string | undefined,
	options: { readonly json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	if (agent === undefined) {
		const { questions } = await client.call("GET /api/v1/questions");
		if (options.json) output.json(questions);
		else if (questions.length === 0) output.note("no open questions");
		else for (const each of questions) output.result(`${each.agent}: ${plainLine(each.question)}`);
		return CLI_EXIT.done;
	}
	if (text === undefined) {
		throw new ReeveError(
			"usage",
			"the answer is empty",
			`Pass one: \`reeve reply ${agent} ANSWER\`.`,
		);
	}
	const place = await resolveAgent(agent, client);
	const body = { answer: text };
	const { question } = await client.call("POST /api/v1/agents/:id/reply", { place, body });
	if (options.json) output.json({ id: place, question, answer: text });
	else output.result(`${place}: answered \`${plainLine(question)}\``);
	return CLI_EXIT.done;
}
