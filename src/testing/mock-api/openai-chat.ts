/** OpenAI Chat Completions: `POST /v1/chat/completions`, which many other services imitate. */

import { type Dialect, type FullAnswer, readMessages, type SseEvent, textOf } from "./dialect.js";
import type { MockFailure } from "./script.js";

interface Body {
	readonly model?: string;
	readonly stream?: boolean;
	readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
	readonly response_format?: { readonly json_schema?: { readonly schema?: unknown } };
	readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

export const openaiChat: Dialect = {
	name: "openai-chat",
	fits: (path) => /\/chat\/completions$/.test(path),
	readRequest(body) {
		const { model = "", stream = false, messages = [], tools = [], response_format } = body as Body;
		const reported = messages.map(({ role, content }) => ({
			isUser: role === "user",
			text: textOf(content),
		}));
		return {
			...readMessages(reported, messages.at(-1)?.role === "tool"),
			schema: response_format?.json_schema?.schema ?? null,
			model,
			isStream: stream,
			tools: tools.map((tool) => tool.function.name),
		};
	},
	answer: (answer) => ({
		...completion(answer, "chat.completion"),
		choices: [
			{
				index: 0,
				message: { role: "assistant", content: answer.text, ...toolCalls(answer) },
				finish_reason: finishReason(answer),
			},
		],
		usage: usage(answer),
	}),
	stream,
	lastLine: "[DONE]",
	failStream: ({ type, code = null }, message) => ({ data: { error: { message, type, code } } }),
	fail({ status, type: named, code: given, limitResetsAtMs }: MockFailure, message) {
		const isLimit = limitResetsAtMs !== undefined;
		const code = given ?? (isLimit ? "usage_limit_reached" : null);
		const byStatus = status >= 500 ? "server_error" : "invalid_request_error";
		const type = named ?? code ?? byStatus;
		const resets_at = isLimit ? { resets_at: Math.ceil(limitResetsAtMs / 1000) } : {};
		return { headers: {}, body: { error: { message, type, code, param: null, ...resets_at } } };
	},
};

const completion = ({ id, model }: FullAnswer, object: string) => ({
	id: `chatcmpl-${id}`,
	object,
	created: 1,
	model,
});

function finishReason({ tool, refuses }: FullAnswer): string {
	if (refuses) return "content_filter";
	return tool == null ? "stop" : "tool_calls";
}

const usage = ({ input, output }: FullAnswer) => ({
	prompt_tokens: input,
	completion_tokens: output,
	total_tokens: input + output,
});

function toolCalls({ id, tool }: FullAnswer) {
	if (tool == null) return {};
	const call = { name: tool.name, arguments: JSON.stringify(tool.input) };
	return { tool_calls: [{ index: 0, id: `call_${id}`, type: "function", function: call }] };
}

function stream(answer: FullAnswer): SseEvent[] {
	const chunk = (delta: object, finish_reason: string | null = null) => ({
		...completion(answer, "chat.completion.chunk"),
		choices: [{ index: 0, delta, finish_reason }],
	});
	return [
		{ data: chunk({ role: "assistant", content: "" }) },
		...answer.pieces.map((content) => ({ data: chunk({ content }), isPiece: true })),
		...(answer.tool == null ? [] : [{ data: chunk(toolCalls(answer)), isPiece: true }]),
		{ data: chunk({}, finishReason(answer)) },
		{ data: { ...completion(answer, "chat.completion.chunk"), choices: [], usage: usage(answer) } },
	];
}
