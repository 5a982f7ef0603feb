/** OpenAI Responses: `POST /v1/responses`, as used by Codex. */

import { type Dialect, type FullAnswer, readMessages, type SseEvent, textOf } from "./dialect.js";
import type { MockFailure } from "./script.js";

interface Item {
	readonly type?: string;
	readonly role?: string;
	readonly content?: unknown;
}

interface Body {
	readonly model?: string;
	readonly stream?: boolean;
	readonly input?: string | readonly Item[];
	readonly text?: { readonly format?: { readonly schema?: unknown } };
	readonly tools?: readonly { readonly name?: string; readonly type: string }[];
}

export const openaiResponses: Dialect = {
	name: "openai-responses",
	fits: (path) => /\/responses$/.test(path),
	readRequest(body) {
		const { model = "", stream = false, input = [], tools = [], text } = body as Body;
		const items: readonly Item[] =
			typeof input === "string" ? [{ role: "user", content: input }] : input;
		const reported = items.map(({ role, content }) => ({
			isUser: role === "user",
			text: textOf(content),
		}));
		const isToolResult = items.at(-1)?.type?.endsWith("_output") === true;
		return {
			...readMessages(reported, isToolResult),
			schema: text?.format?.schema ?? null,
			model,
			isStream: stream,
			tools: tools.map(({ name, type }) => name ?? type),
		};
	},
	answer: (answer) => response(answer, endOf(answer), items(answer)),
	stream,
	failStream: ({ type, code = type }, message) => ({
		event: "response.failed",
		data: { type: "response.failed", response: { status: "failed", error: { code, message } } },
	}),
	fail({ status, type, code, limitResetsAtMs, retryAfterSeconds }: MockFailure, message) {
		if (limitResetsAtMs !== undefined) {
			const resets_at = Math.ceil(limitResetsAtMs / 1000);
			const error = { type: "usage_limit_reached", message, plan_type: "pro", resets_at };
			return {
				headers: {
					"x-codex-primary-used-percent": "100",
					"x-codex-primary-reset-at": String(resets_at),
				},
				body: { error: { ...error, resets_in_seconds: retryAfterSeconds ?? 0 } },
			};
		}
		const error = { message, type: type ?? errorType(status), param: null, code: code ?? null };
		return { headers: {}, body: { error } };
	},
};

function errorType(status: number): string {
	if (status === 429) return "rate_limit_exceeded";
	if (status === 401) return "invalid_api_key";
	return status >= 500 ? "server_error" : "invalid_request_error";
}

function items({ id, text, tool }: FullAnswer): unknown[] {
	const said = {
		type: "message",
		id: `msg_${id}`,
		role: "assistant",
		status: "completed",
		content: [{ type: "output_text", text, annotations: [] }],
	};
	const call = tool && {
		type: "function_call",
		id: `fc_${id}`,
		call_id: `call_${id}`,
		status: "completed",
		name: tool.name,
		arguments: JSON.stringify(tool.input),
	};
	return [...(text === "" ? [] : [said]), ...(call == null ? [] : [call])];
}

const endOf = ({ refuses }: FullAnswer) => (refuses ? "incomplete" : "completed");

const response = (
	{ id, model, input, output }: FullAnswer,
	status: string,
	output_items: readonly unknown[],
) => ({
	id: `resp_${id}`,
	object: "response",
	status,
	model,
	output: output_items,
	error: null,
	incomplete_details: status === "incomplete" ? { reason: "content_filter" } : null,
	usage: {
		input_tokens: input,
		output_tokens: output,
		total_tokens: input + output,
		input_tokens_details: { cached_tokens: 0 },
		output_tokens_details: { reasoning_tokens: 0 },
	},
});

function stream(answer: FullAnswer): SseEvent[] {
	const events: SseEvent[] = [];
	const send = (type: string, data: object, isPiece = false) =>
		events.push({ event: type, data: { type, sequence_number: events.length, ...data }, isPiece });
	send("response.created", { response: response(answer, "in_progress", []) });
	let output_index = 0;
	for (const item of items(answer) as { id: string; type: string }[]) {
		const at = { output_index, item_id: item.id };
		const isText = item.type === "message";
		const opened = { ...item, status: "in_progress", ...(isText ? { content: [] } : {}) };
		send("response.output_item.added", { output_index, item: opened });
		if (isText) {
			const place = { ...at, content_index: 0 };
			const part = { type: "output_text", text: "", annotations: [] };
			send("response.content_part.added", { ...place, part });
			for (const delta of answer.pieces) {
				send("response.output_text.delta", { ...place, delta }, true);
			}
			send("response.output_text.done", { ...place, text: answer.text });
		} else {
			const args = JSON.stringify(answer.tool?.input);
			send("response.function_call_arguments.delta", { ...at, delta: args }, true);
			send("response.function_call_arguments.done", { ...at, arguments: args });
		}
		send("response.output_item.done", { output_index, item });
		output_index++;
	}
	const end = endOf(answer);
	send(`response.${end}`, { response: response(answer, end, items(answer)) });
	return events;
}
