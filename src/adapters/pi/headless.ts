/** pi without a terminal: `pi --mode json`. It always exits with 0. */

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
	waitIn,
} from "../../core/headless.js";
import type { HeadlessAdapter, PrintedCall } from "../../ports/executor.js";

interface Message {
	readonly role: string;
	readonly content?: readonly { readonly type: string; readonly text?: string }[];
	readonly stopReason?: string;
	readonly errorMessage?: string;
	readonly usage?: {
		readonly input: number;
		readonly output: number;
		readonly cacheRead: number;
		readonly cacheWrite: number;
		readonly cost?: { readonly total: number };
	};
}

interface PiEvent {
	readonly type?: string;
	readonly id?: string;
	readonly message?: Message;
}

export const piHeadless: HeadlessAdapter = {
	name: "pi",
	prepare({ argv, env }, request) {
		const asked = parsePrompt(request);
		if ("code" in asked) return asked;
		const resume = asked.conversation === null ? [] : ["--session", asked.conversation];
		return {
			argv: [...argv, "--mode", "json", ...resume],
			env,
			stdin: asked.prompt,
			ownTmpdir: true,
		};
	},
	parse: (request, printed) => renderHeadless(request, read(printed)),
	used: (stdout) => readingOf(spentOf(parseEvents(stdout) as readonly PiEvent[])),
};

function read(printed: PrintedCall): HeadlessEnd {
	const { stdout, stderr } = printed;
	const events = parseEvents(stdout) as readonly PiEvent[];
	const last = answersIn(events).at(-1);
	const isOver = events.some(({ type }) => type === "agent_end");
	if (last === undefined || !isOver) {
		return endFromMessage(lastLine(stderr) || lastLine(stdout), printed);
	}
	if (last.stopReason === "error" || last.stopReason === "aborted") {
		return endFromMessage(last.errorMessage ?? last.stopReason, printed);
	}
	const texts = last.content?.filter(({ type }) => type === "text") ?? [];
	return {
		type: "answered",
		answer: {
			text: texts.map(({ text }) => text ?? "").join("\n"),
			conversation: events.find(({ type }) => type === "session")?.id ?? null,
			...spentOf(events),
			denied_tools: [],
		},
	};
}

const answersIn = (events: readonly PiEvent[]) =>
	events.flatMap(({ type, message }) =>
		type === "message_end" && message?.role === "assistant" ? [message] : [],
	);

function spentOf(events: readonly PiEvent[]): CallUsage {
	const answers = answersIn(events);
	if (answers.length === 0) return NOTHING_REPORTED;
	const sum = (of: (message: Message) => number | undefined) =>
		answers.reduce((total, message) => total + (of(message) ?? 0), 0);
	return {
		usage: {
			input_tokens: sum(({ usage }) => usage && usage.input + usage.cacheRead + usage.cacheWrite),
			output_tokens: sum(({ usage }) => usage?.output),
			cached_input_tokens: sum(({ usage }) => usage?.cacheRead),
		},
		cost_usd: sum(({ usage }) => usage?.cost?.total),
	};
}

function endFromMessage(message: string, reader: ResetReader): HeadlessEnd {
	const status = /^(\d{3}) /.exec(message)?.[1];
	if (/usage limit/i.test(message)) return failed("usage_limit", message, waitIn(message, reader));
	if (status !== undefined) return endOfFailed({ message, status: Number(status) }, reader);
	if (message.includes("No session found")) return failed("conversation_gone", message);
	if (/No API key|No models available/i.test(message)) return failed("auth", message);
	if (/terminated|connection|fetch failed/i.test(message)) return failed("connection", message);
	return endOfFailed({ message: message || "it exited without a result" }, reader);
}
