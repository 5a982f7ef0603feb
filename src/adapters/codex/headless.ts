/** Codex without a terminal: `codex exec --json`. */

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

export const codexHeadless: HeadlessAdapter = {
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
	parse: (request, printed) => renderHeadless(request, read(printed)),
	used(stdout) {
		const events = parseEvents(stdout) as readonly CodexEvent[];
		// It reports the total of the whole conversation.
		return readingOf(spentOf(events), conversationOf(events) ?? "");
	},
};

function read(printed: PrintedCall): HeadlessEnd {
	const { stdout, stderr } = printed;
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
	return endFromMessage(last?.error?.message ?? lastLine(stderr), printed);
}

const conversationOf = (events: readonly CodexEvent[]) =>
	events.find(({ thread_id }) => thread_id !== undefined)?.thread_id ?? null;

function spentOf(events: readonly CodexEvent[]): CallUsage {
	const reported = events.findLast(({ usage }) => usage !== undefined)?.usage;
	if (reported === undefined) return NOTHING_REPORTED;
	const { input_tokens, output_tokens, cached_input_tokens = 0 } = reported;
	return { usage: { input_tokens, output_tokens, cached_input_tokens }, cost_usd: null };
}

function endFromMessage(message: string, reader: ResetReader): HeadlessEnd {
	// The only text for an account without credit.
	if (message.startsWith("Quota exceeded.")) return failed("billing", message);
	if (/usage limit/i.test(message)) {
		return failed("usage_limit", message, waitIn(message, reader));
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
	const status = /status:? (\d{3})/.exec(message)?.[1];
	if (status !== undefined) return endOfFailed({ message, status: Number(status) }, reader);
	return endOfFailed({ message: message || "it exited without a result" }, reader);
}
