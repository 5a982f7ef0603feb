/** Codex without a terminal: `codex exec --json`. */

import {
	type CallUsage,
	failed,
	type HeadlessEnd,
	headlessFailureOf,
	lastLine,
	NOTHING_REPORTED,
	parseEvents,
	parsePrompt,
	readingOf,
	renderHeadless,
} from "../../core/headless.js";
import type { CallAdapter, EndedCall } from "../../ports/executor.js";

interface CodexEvent {
	readonly type?: string;
	readonly thread_id?: string;
	readonly item?: { readonly type: string; readonly text?: string };
	readonly usage?: {
		readonly input_tokens: number;
		readonly output_tokens: number;
		readonly cached_input_tokens?: number;
	};
	readonly error?: { readonly message?: string };
}

export const codexHeadless: CallAdapter = {
	name: "codex",
	prepare({ argv, env }, request) {
		const asked = parsePrompt(request);
		if ("code" in asked) return asked;
		const flags = ["--json", "--skip-git-repo-check"];
		const [program, ...args] = argv;
		const resume = asked.conversation === null ? [] : ["resume"];
		const id = asked.conversation === null ? [] : [asked.conversation];
		// `-` is the prompt on stdin.
		return {
			argv: [program, "exec", ...resume, ...flags, ...args, ...id, "-"],
			env,
			stdin: asked.prompt,
			ownTmpdir: true,
		};
	},
	parse: (request, ended) => renderHeadless(request, read(ended)),
	used(stdout) {
		const events = parseEvents(stdout) as readonly CodexEvent[];
		// It reports the total of the whole conversation.
		return readingOf(spentOf(events), conversationOf(events) ?? "");
	},
};

function read({ stdout, stderr, atMs }: EndedCall): HeadlessEnd {
	const events = parseEvents(stdout) as readonly CodexEvent[];
	const last = events.findLast(({ type }) => type === "turn.completed" || type === "turn.failed");
	if (last?.type === "turn.completed") {
		const lastItem = events.findLast(({ item }) => item?.type === "agent_message")?.item;
		const [text, conversation] = [lastItem?.text ?? "", conversationOf(events)];
		return {
			type: "answered",
			answer: { text, conversation, ...spentOf(events), denied_tools: [] },
		};
	}
	return endFromMessage(last?.error?.message ?? lastLine(stderr), atMs);
}

const conversationOf = (events: readonly CodexEvent[]) =>
	events.find(({ thread_id }) => thread_id !== undefined)?.thread_id ?? null;

function spentOf(events: readonly CodexEvent[]): CallUsage {
	const reported = events.findLast(({ usage }) => usage !== undefined)?.usage;
	if (reported === undefined) return NOTHING_REPORTED;
	const { input_tokens, output_tokens, cached_input_tokens = 0 } = reported;
	return { usage: { input_tokens, output_tokens, cached_input_tokens }, cost_usd: null };
}

function endFromMessage(message: string, atMs: number): HeadlessEnd {
	// The only text for an account without credit.
	if (message.startsWith("Quota exceeded.")) return failed("billing", message);
	if (/usage limit/i.test(message)) {
		return failed("usage_limit", message, untilReset(message, atMs));
	}
	if (message.includes("content_filter")) return failed("refusal", message);
	if (/no rollout found|thread\/resume failed/.test(message)) {
		return failed("conversation_gone", message);
	}
	if (/stream disconnected|error sending request|Connection/i.test(message)) {
		return failed("connection", message);
	}
	// Its text for any HTTP status 500.
	if (message.includes("experiencing high demand")) return failed("overloaded", message);
	if (/not logged in|codex login/i.test(message)) return failed("auth", message);
	if (/config\.toml|unexpected argument|missing environment variable/i.test(message))
		return failed("config", message);
	const status = Number(/status:? (\d{3})/.exec(message)?.[1]);
	if (Number.isInteger(status)) return failed(headlessFailureOf(message, status), message);
	return failed(headlessFailureOf(message), message || "it exited without a result");
}

const MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec";

/** "try again at Jan 1st, 2099 3:00 PM", in the host's local time, or "at 3:00 PM" for today. */
function untilReset(message: string, atMs: number): number | null {
	const found =
		/try again at (?:([A-Z][a-z]{2})[a-z]* (\d{1,2})\w*, (\d{4}) )?(\d{1,2}):(\d{2}) ([AP])M/.exec(
			message,
		);
	if (found === null) return null;
	const [, month, day, year, hour, minute, half] = found;
	const hours = (Number(hour) % 12) + (half === "P" ? 12 : 0);
	const reset = new Date(atMs);
	if (month !== undefined) {
		reset.setFullYear(Number(year), MONTHS.indexOf(month.toLowerCase()) / 3, Number(day));
	}
	reset.setHours(hours, Number(minute), 0, 0);
	return Math.max(0, reset.getTime() - atMs);
}
