/** Gemini: `POST /v1beta/models/<model>:generateContent` and `:streamGenerateContent`. */

import { type Dialect, type FullAnswer, readMessages, textOf } from "./dialect.js";
import type { MockFailure } from "./script.js";

interface Body {
	readonly contents?: readonly { readonly role?: string; readonly parts?: readonly Part[] }[];
	readonly generationConfig?: {
		readonly responseMimeType?: string;
		readonly responseSchema?: unknown;
		readonly responseJsonSchema?: unknown;
	};
	readonly tools?: readonly {
		readonly functionDeclarations?: readonly { readonly name: string }[];
	}[];
}

interface Part {
	readonly text?: string;
	readonly functionResponse?: unknown;
}

const STATUSES: Readonly<Record<number, string>> = {
	400: "INVALID_ARGUMENT",
	401: "UNAUTHENTICATED",
	403: "PERMISSION_DENIED",
	404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED",
	503: "UNAVAILABLE",
	529: "UNAVAILABLE",
};

const PATH = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

export const gemini: Dialect = {
	name: "gemini",
	fits: (path) => PATH.test(path),
	readRequest(body, path) {
		const { contents = [], tools = [], generationConfig: wanted } = body as Body;
		const isJson = wanted?.responseMimeType === "application/json";
		const reported = contents.map(({ role = "user", parts }) => ({
			isUser: role === "user",
			text: textOf(parts),
		}));
		const isToolResult =
			contents.at(-1)?.parts?.some((part) => part.functionResponse !== undefined) === true;
		const [, model = "", method] = PATH.exec(path) ?? [];
		return {
			...readMessages(reported, isToolResult),
			schema: isJson ? (wanted.responseJsonSchema ?? wanted.responseSchema ?? {}) : null,
			model,
			isStream: method === "streamGenerateContent",
			tools: tools.flatMap((tool) => tool.functionDeclarations ?? []).map(({ name }) => name),
		};
	},
	answer: (answer) => chunk(answer, parts(answer, answer.text), true),
	stream: (answer) => [
		...answer.pieces.map((text) => ({ data: chunk(answer, [{ text }], false), isPiece: true })),
		{ data: chunk(answer, parts(answer, ""), true) },
	],
	failStream: ({ status, type }, message) => ({
		data: { error: { code: status, message, status: type } },
	}),
	fail({ status, type: named, code, retryAfterSeconds, limitResetsAtMs }: MockFailure, message) {
		const type = "type.googleapis.com/google.rpc";
		const quota = {
			"@type": `${type}.QuotaFailure`,
			violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel", quotaValue: "1" }],
		};
		const retry = { "@type": `${type}.RetryInfo`, retryDelay: `${retryAfterSeconds}s` };
		const info = { "@type": `${type}.ErrorInfo`, reason: code, domain: "googleapis.com" };
		const details = [
			...(code === undefined ? [] : [info]),
			...(limitResetsAtMs === undefined ? [] : [quota]),
			...(retryAfterSeconds === undefined ? [] : [retry]),
		];
		const byStatus = STATUSES[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
		const name = named ?? byStatus;
		return { headers: {}, body: { error: { code: status, message, status: name, details } } };
	},
};

function parts({ tool }: FullAnswer, text: string): unknown[] {
	const call = tool && { functionCall: { name: tool.name, args: tool.input } };
	return [...(text === "" ? [] : [{ text }]), ...(call == null ? [] : [call])];
}

const chunk = (
	{ model, input, output, refuses }: FullAnswer,
	said: unknown[],
	isLast: boolean,
) => ({
	candidates: [
		{
			index: 0,
			content: { role: "model", parts: said },
			...(isLast && { finishReason: refuses ? "SAFETY" : "STOP" }),
		},
	],
	modelVersion: model,
	usageMetadata: {
		promptTokenCount: input,
		candidatesTokenCount: output,
		totalTokenCount: input + output,
	},
});
