/** Anthropic Messages: `POST /v1/messages`, and its token count. */

import { type Dialect, type FullAnswer, readMessages, type SseEvent, textOf } from "./dialect.js";
import type { MockFailure } from "./script.js";

interface Body {
	readonly model?: string;
	readonly stream?: boolean;
	readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
	readonly output_config?: { readonly format?: { readonly schema?: unknown } };
	readonly tools?: readonly { readonly name: string }[];
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
	400: "invalid_request_error",
	401: "authentication_error",
	402: "billing_error",
	403: "permission_error",
	404: "not_found_error",
	429: "rate_limit_error",
	529: "overloaded_error",
};

export const anthropic: Dialect = {
	name: "anthropic",
	fits: (path) => /\/v1\/messages$/.test(path),
	readRequest(body) {
		const { model = "", stream = false, messages = [], tools = [], output_config } = body as Body;
		const reported = messages.map(({ role, content }) => ({
			isUser: role === "user",
			text: textOf(content),
		}));
		const parts = messages.at(-1)?.content;
		const isToolResult = Array.isArray(parts) && parts.some((part) => part.type === "tool_result");
		return {
			...readMessages(reported, isToolResult),
			schema: output_config?.format?.schema ?? null,
			model,
			isStream: stream,
			tools: tools.map(({ name }) => name),
		};
	},
	answer: (answer) => ({
		...message(answer),
		content: [
			...(answer.text === "" ? [] : [{ type: "text", text: answer.text }]),
			...(answer.tool == null ? [] : [{ ...toolUse(answer), input: answer.tool.input }]),
		],
		stop_reason: stopReason(answer),
		usage: { input_tokens: answer.input, output_tokens: answer.output },
	}),
	stream,
	failStream: ({ type }, text) => ({
		event: "error",
		data: { type: "error", error: { type, message: text } },
	}),
	fail({ status, type: named, limitResetsAtMs }: MockFailure, text) {
		const byStatus = ERROR_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
		const type = named ?? byStatus;
		const headers: Record<string, string> = {};
		if (limitResetsAtMs !== undefined) {
			headers["anthropic-ratelimit-unified-status"] = "rejected";
			headers["anthropic-ratelimit-unified-representative-claim"] = "five_hour";
			headers["anthropic-ratelimit-unified-reset"] = String(Math.ceil(limitResetsAtMs / 1000));
		}
		return { headers, body: { type: "error", error: { type, message: text } } };
	},
};

const message = ({ id, model, input }: FullAnswer) => ({
	id: `msg_${id}`,
	type: "message",
	role: "assistant",
	model,
	content: [] as unknown[],
	stop_reason: null as string | null,
	stop_sequence: null,
	usage: { input_tokens: input, output_tokens: 1 },
});

const toolUse = ({ id, tool }: FullAnswer) => ({
	type: "tool_use",
	id: `toolu_${id}`,
	name: tool?.name ?? "",
	input: {} as unknown,
});

function stopReason({ tool, refuses }: FullAnswer): string {
	if (refuses) return "refusal";
	return tool == null ? "end_turn" : "tool_use";
}

function stream(answer: FullAnswer): SseEvent[] {
	const events: SseEvent[] = [named("message_start", { message: message(answer) })];
	let index = 0;
	const block = (start: unknown, deltas: readonly unknown[]) => {
		events.push(named("content_block_start", { index, content_block: start }));
		for (const delta of deltas) {
			events.push({ ...named("content_block_delta", { index, delta }), isPiece: true });
		}
		events.push(named("content_block_stop", { index }));
		index++;
	};
	if (answer.text !== "") {
		block(
			{ type: "text", text: "" },
			answer.pieces.map((text) => ({ type: "text_delta", text })),
		);
	}
	if (answer.tool != null) {
		const partial_json = JSON.stringify(answer.tool.input);
		block(toolUse(answer), [{ type: "input_json_delta", partial_json }]);
	}
	const delta = { stop_reason: stopReason(answer), stop_sequence: null };
	events.push(named("message_delta", { delta, usage: { output_tokens: answer.output } }));
	events.push(named("message_stop", {}));
	return events;
}

const named = (type: string, data: object): SseEvent => ({ event: type, data: { type, ...data } });
