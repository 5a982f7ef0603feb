/** Claude Code without a terminal: `claude -p` and its stream of JSON. */

import {
	type CallUsage,
	endOfFailed,
	failed,
	type HeadlessEnd,
	type HeadlessUsage,
	lastLine,
	parseEvents,
	parsePrompt,
	type ResetReader,
	readingOf,
	renderHeadless,
	waitIn,
} from "../../core/headless.js";
import type { HeadlessAdapter, PrintedCall } from "../../ports/executor.js";

interface Result {
	readonly type: "result";
	/** Reports `success` even if the API has failed. */
	readonly subtype: string;
	readonly is_error: boolean;
	readonly result?: string;
	readonly errors?: readonly string[];
	readonly api_error_status?: number | null;
	readonly session_id: string;
	/** Of the whole conversation, including the cost of earlier calls. */
	readonly total_cost_usd?: number;
	/** Of the last turn, without subagents. */
	readonly usage?: ApiUsage;
	/** The total, by model. */
	readonly model_usage_since_last_result?: Readonly<Record<string, ModelUsage>>;
	readonly permission_denials?: readonly { readonly tool_name: string }[];
}

type PrintedEvent = Readonly<Record<string, unknown>>;

const isResult = (event: PrintedEvent): event is PrintedEvent & Result =>
	event["type"] === "result";

interface ApiUsage {
	readonly input_tokens: number;
	readonly output_tokens: number;
	readonly cache_read_input_tokens?: number;
	readonly cache_creation_input_tokens?: number;
}

interface ModelUsage {
	readonly inputTokens: number;
	readonly outputTokens: number;
	readonly cacheReadInputTokens: number;
	readonly cacheCreationInputTokens: number;
	readonly costUSD: number;
}

interface RateLimit {
	readonly rate_limit_info?: { readonly status?: string; readonly resetsAt?: number };
}

export const claudeHeadless: HeadlessAdapter = {
	name: "claude",
	prepare({ argv, env }, request) {
		const asked = parsePrompt(request);
		if ("code" in asked) return asked;
		const resume = asked.conversation === null ? [] : ["--resume", asked.conversation];
		return {
			argv: [...argv, "-p", "--output-format", "stream-json", "--verbose", ...resume],
			// Its own retries take three minutes; Reeve's are visible, and follow the fleet file.
			env: { CLAUDE_CODE_MAX_RETRIES: "1", DISABLE_AUTOUPDATER: "1", ...env },
			stdin: asked.prompt,
			ownTmpdir: true,
		};
	},
	parse: (request, printed) => renderHeadless(request, read(printed)),
	used: (stdout) => readingOf(spentOf(parseEvents(stdout))),
};

function read(printed: PrintedCall): HeadlessEnd {
	const { stdout, stderr, atMs } = printed;
	const events = parseEvents(stdout);
	const result = events.findLast(isResult);
	// It prints nothing else if its own flags or settings are wrong.
	if (result === undefined) {
		const message = lastLine(stderr) || (events.length > 0 ? "" : lastLine(stdout));
		return endFromMessage(message, printed);
	}
	if (!result.is_error) return answered(result, spentOf(events));
	const message = result.result ?? result.errors?.join("; ") ?? result.subtype;
	const limit = events.findLast((event) => event["type"] === "rate_limit_event") as
		| RateLimit
		| undefined;
	const { status: window, resetsAt } = limit?.rate_limit_info ?? {};
	const status = result.api_error_status ?? null;
	const end =
		status === null ? endFromMessage(message, printed) : endOfFailed({ message, status }, printed);
	const isLimit = end.type === "failed" && end.trouble === "usage_limit";
	if (window !== "rejected" && !isLimit) return end;
	const exactMs = resetsAt === undefined ? null : Math.max(0, resetsAt * 1000 - atMs);
	return failed("usage_limit", message, exactMs ?? waitIn(message, printed));
}

function endFromMessage(message: string, reader: ResetReader): HeadlessEnd {
	if (message.includes("No conversation found")) return failed("conversation_gone", message);
	if (/Connection to the API|ECONN|timed out/i.test(message)) return failed("connection", message);
	if (/\/login|API key|not logged in/i.test(message)) return failed("auth", message);
	if (/root\/sudo|unknown option|Invalid settings/i.test(message)) {
		return failed("config", message);
	}
	return endOfFailed({ message: message || "it exited without a result" }, reader);
}

function answered(
	{ result = "", session_id, permission_denials }: Result,
	spent: CallUsage,
): HeadlessEnd {
	return {
		type: "answered",
		answer: {
			text: result,
			conversation: session_id,
			...spent,
			denied_tools: permission_denials?.map(({ tool_name }) => tool_name) ?? [],
		},
	};
}

/** It prints a result whenever it is idle, even while subagents are working. */
function spentOf(events: readonly PrintedEvent[]): CallUsage {
	const results = events.filter(isResult);
	if (results.length === 0) return { usage: usageOfMessages(events), cost_usd: null };
	const models = results.flatMap((each) => Object.values(each.model_usage_since_last_result ?? {}));
	const { usage, total_cost_usd: cost } = results.at(-1) as Result;
	if (models.length === 0) {
		return { usage: usage === undefined ? null : reportedBy([usage]), cost_usd: cost ?? null };
	}
	const usages = models.map((model) => ({
		input_tokens: model.inputTokens,
		output_tokens: model.outputTokens,
		cache_read_input_tokens: model.cacheReadInputTokens,
		cache_creation_input_tokens: model.cacheCreationInputTokens,
	}));
	const cost_usd = models.reduce((sum, { costUSD }) => sum + costUSD, 0);
	return { usage: reportedBy(usages), cost_usd };
}

/** The usage of a call that was stopped before its result. Messages are repeated as they grow. */
function usageOfMessages(events: readonly PrintedEvent[]) {
	const messages = events.flatMap(({ type, message }) =>
		type === "assistant" ? [message as { readonly id: string; readonly usage: ApiUsage }] : [],
	);
	if (messages.length === 0) return null;
	return reportedBy([...new Map(messages.map(({ id, usage }) => [id, usage])).values()]);
}

function reportedBy(usages: readonly ApiUsage[]): HeadlessUsage {
	const sum = (of: (usage: ApiUsage) => number | undefined) =>
		usages.reduce((total, usage) => total + (of(usage) ?? 0), 0);
	const cached = sum((usage) => usage.cache_read_input_tokens);
	const written = sum((usage) => usage.cache_creation_input_tokens);
	return {
		input_tokens: sum((usage) => usage.input_tokens) + cached + written,
		output_tokens: sum((usage) => usage.output_tokens),
		cached_input_tokens: cached,
	};
}
