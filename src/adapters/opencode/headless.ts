/** OpenCode without a terminal: `opencode run --format json`. */

import {
	type CallUsage,
	endOfFailed,
	failed,
	type HeadlessEnd,
	lastLine,
	NOTHING_REPORTED,
	parseEvents,
	parsePrompt,
	type ResetReader,
	readingOf,
	renderHeadless,
	waitOfRequest,
} from "../../core/headless.js";
import type { HeadlessAdapter, PrintedCall } from "../../ports/executor.js";

interface OpencodeEvent {
	readonly type?: string;
	readonly sessionID?: string;
	readonly part?: {
		readonly text?: string;
		readonly cost?: number;
		readonly tokens?: {
			readonly input: number;
			readonly output: number;
			readonly reasoning?: number;
			readonly cache?: { readonly read: number; readonly write?: number };
		};
	};
	readonly error?: {
		readonly name?: string;
		readonly data?: {
			readonly message?: string;
			readonly statusCode?: number;
			readonly responseHeaders?: Readonly<Record<string, string>>;
			readonly responseBody?: string;
		};
	};
}

export const opencodeHeadless: HeadlessAdapter = {
	name: "opencode",
	prepare({ argv: [program, ...args], env }, request) {
		const asked = parsePrompt(request);
		if ("code" in asked) return asked;
		const resume = asked.conversation === null ? [] : ["-s", asked.conversation];
		return {
			argv: [program, "run", "--format", "json", ...args, ...resume],
			env: { OPENCODE_DISABLE_AUTOUPDATE: "1", ...env },
			stdin: asked.prompt,
			ownTmpdir: true,
		};
	},
	parse: (request, printed) => renderHeadless(request, read(printed)),
	used: (stdout) => readingOf(spentOf(parseEvents(stdout) as readonly OpencodeEvent[])),
};

function read(printed: PrintedCall): HeadlessEnd {
	const { code, stdout, stderr } = printed;
	const events = parseEvents(stdout) as readonly OpencodeEvent[];
	const error = events.findLast(({ type }) => type === "error")?.error;
	if (error !== undefined) return ofError(error, printed);
	if (code !== 0 || !events.some(({ type }) => type === "step_finish")) {
		const message = lastLine(stderr) || lastLine(stdout);
		if (message.includes("Session not found")) return failed("conversation_gone", message);
		if (/config/i.test(message)) return failed("config", message);
		return endOfFailed({ message: message || "it exited without a result" }, printed);
	}
	return answered(events);
}

function ofError(
	{ name, data = {} }: NonNullable<OpencodeEvent["error"]>,
	reader: ResetReader,
): HeadlessEnd {
	const { message = name ?? "", statusCode = null, responseHeaders, responseBody = "" } = data;
	if (name === "ContentFilterError") return failed("refusal", message);
	if (name === "ProviderAuthError") return failed("auth", message);
	if (statusCode === null && /connect/i.test(message)) return failed("connection", message);
	const request = {
		message,
		status: statusCode,
		body: responseBody,
		retryAfter: responseHeaders?.["retry-after"],
	};
	// Compatible services have their own names for a limit.
	return /usage limit/i.test(message)
		? failed("usage_limit", message, waitOfRequest(request, reader))
		: endOfFailed(request, reader);
}

function answered(events: readonly OpencodeEvent[]): HeadlessEnd {
	const texts = events.filter(({ type }) => type === "text");
	return {
		type: "answered",
		answer: {
			text: texts.map(({ part }) => part?.text ?? "").join("\n"),
			conversation: events.find(({ type }) => type === "step_finish")?.sessionID ?? null,
			...spentOf(events),
			denied_tools: [],
		},
	};
}

function spentOf(events: readonly OpencodeEvent[]): CallUsage {
	const steps = events.filter(({ type }) => type === "step_finish");
	if (steps.length === 0) return NOTHING_REPORTED;
	const sum = (of: (step: OpencodeEvent) => number | undefined) =>
		steps.reduce((total, step) => total + (of(step) ?? 0), 0);
	return {
		usage: {
			input_tokens: sum(({ part }) => inputOf(part?.tokens)),
			output_tokens:
				sum(({ part }) => part?.tokens?.output) + sum(({ part }) => part?.tokens?.reasoning),
			cached_input_tokens: sum(({ part }) => part?.tokens?.cache?.read),
		},
		cost_usd: sum(({ part }) => part?.cost),
	};
}

function inputOf(tokens: NonNullable<OpencodeEvent["part"]>["tokens"]): number {
	if (tokens === undefined) return 0;
	return tokens.input + (tokens.cache?.read ?? 0) + (tokens.cache?.write ?? 0);
}
