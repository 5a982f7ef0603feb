/** A fake agent without a terminal: one prompt, with a response as text, JSON or a JSON stream in Claude's format. */

import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { FakeArguments } from "./arguments.js";
import { createChooseTurn } from "./choose-turn.js";
import type { Conversation } from "./conversation.js";
import type { ReportEvent } from "./report.js";
import type { ToolChild } from "./tool-child.js";
import { playTurn, type TurnEnd } from "./turn.js";

export interface HeadlessWorld {
	readonly conversation: Conversation;
	readonly report: ReportEvent;
	onTool(tool: ToolChild | null): void;
	leave(code: number): never;
}

/** Resolves to its exit code. */
export async function runHeadless(asked: FakeArguments, world: HeadlessWorld): Promise<number> {
	const { script, headless } = asked;
	if (script.replay !== undefined) {
		await print(readFileSync(script.replay.stdout, "utf8"));
		return script.replay.exit_code;
	}
	const session_id = world.conversation.id;
	const isStream = headless === "stream-json";
	if (isStream) await printJson({ type: "system", subtype: "init", session_id });
	const prompt = asked.prompt ?? (await text(process.stdin)).trim();
	const turn = createChooseTurn(script)(prompt);
	const end = await playTurn(turn, prompt, {
		...world,
		interrupted: new AbortController().signal,
		// Without a terminal, questions are denied.
		ask: async () => false,
	});
	const reported = end.type === "interrupted" ? "the tool was refused" : end.text;
	if (headless === "text") {
		await print(`${reported}\n`);
		return codeOf(end);
	}
	if (isStream) {
		if (end.type === "limited" && end.resetsAtMs !== null) {
			const resetsAt = Math.ceil(end.resetsAtMs / 1000);
			const rate_limit_info = { status: "rejected", resetsAt, rateLimitType: "five_hour" };
			await printJson({ type: "rate_limit_event", rate_limit_info, session_id });
		}
		const message = { role: "assistant", content: [{ type: "text", text: reported }] };
		await printJson({ type: "assistant", message, session_id });
	}
	const { input = 0, output = 0 } = turn.usage ?? {};
	await printJson({
		// Claude's own quirk: a failure of the API is a success with an error in it.
		type: "result",
		subtype: "success",
		is_error: codeOf(end) !== 0,
		result: reported,
		session_id,
		num_turns: 1,
		total_cost_usd: 0,
		...(end.type === "failed" && { api_error_status: end.status }),
		...(end.type === "limited" && { api_error_status: 429 }),
		usage: { input_tokens: input, output_tokens: output },
	});
	return codeOf(end);
}

const codeOf = ({ type }: TurnEnd) => (type === "answered" ? 0 : 1);

const printJson = (value: unknown) => print(`${JSON.stringify(value)}\n`);

/** Resolves when it is flushed: an exit would otherwise truncate the output in a pipe. */
const print = (text: string) =>
	new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
