/** Claude Code without a terminal: `claude -p` and its stream of JSON. */

import {
	failed,
	type HeadlessEnd,
	lastLine,
	parseEvents,
	parsePrompt,
	renderHeadless,
	troubleOfStatus,
} from "../../core/headless.js";
import type { CallAdapter, EndedCall } from "../../ports/executor.js";

interface Result {
	readonly type: "result";
	/** Says `success` also when the API has failed. */
	readonly subtype: string;
	readonly is_error: boolean;
	readonly result?: string;
	readonly errors?: readonly string[];
	readonly api_error_status?: number | null;
	readonly session_id: string;
	readonly total_cost_usd?: number;
	readonly usage?: {
		readonly input_tokens: number;
		readonly output_tokens: number;
		readonly cache_read_input_tokens?: number;
		readonly cache_creation_input_tokens?: number;
	};
	readonly permission_denials?: readonly { readonly tool_name: string }[];
}

interface RateLimit {
	readonly rate_limit_info?: { readonly status?: string; readonly resetsAt?: number };
}

export const claudeHeadless: CallAdapter = {
	name: "claude",
	prepare({ argv, env }, request) {
		const asked = parsePrompt(request);
		if ("code" in asked) return asked;
		const resume = asked.conversation === null ? [] : ["--resume", asked.conversation];
		return {
			argv: [...argv, "-p", "--output-format", "stream-json", "--verbose", ...resume],
			// Its own retries take three minutes; ours are visible, and obey the fleet file.
			env: { CLAUDE_CODE_MAX_RETRIES: "1", DISABLE_AUTOUPDATER: "1", ...env },
			...{ stdin: asked.prompt, ownTmpdir: true },
		};
	},
	parse: (request, ended) => renderHeadless(request, read(ended)),
};

function read({ stdout, stderr, atMs }: EndedCall): HeadlessEnd {
	const events = parseEvents(stdout);
	const result = events.findLast((event) => event["type"] === "result") as Result | undefined;
	// It prints nothing else when its own flags or settings are wrong.
	if (result === undefined) {
		return ofWords(lastLine(stderr) || (events.length > 0 ? "" : lastLine(stdout)));
	}
	if (!result.is_error) return answered(result);
	const message = result.result ?? result.errors?.join("; ") ?? result.subtype;
	const limit = events.findLast((event) => event["type"] === "rate_limit_event") as
		| RateLimit
		| undefined;
	const { status: window, resetsAt } = limit?.rate_limit_info ?? {};
	if (window === "rejected" || /hit your .*limit|limit reached/i.test(message)) {
		const untilMs = resetsAt === undefined ? null : Math.max(0, resetsAt * 1000 - atMs);
		return failed("usage_limit", message, untilMs);
	}
	const status = result.api_error_status ?? null;
	return status === null ? ofWords(message) : failed(troubleOfStatus(status), message);
}

function ofWords(message: string): HeadlessEnd {
	if (message.includes("No conversation found")) return failed("conversation_gone", message);
	if (/Connection to the API|ECONN|timed out/i.test(message)) return failed("connection", message);
	if (/\/login|API key|not logged in/i.test(message)) return failed("auth", message);
	if (/root\/sudo|unknown option|Invalid settings/i.test(message)) {
		return failed("config", message);
	}
	return failed("failure", message || "it ended without a result");
}

function answered({ result = "", session_id, usage, ...told }: Result): HeadlessEnd {
	const { cache_read_input_tokens: cached = 0, cache_creation_input_tokens: written = 0 } =
		usage ?? {};
	return {
		type: "answered",
		answer: {
			...{ text: result, conversation: session_id },
			usage:
				usage === undefined
					? null
					: {
							input_tokens: usage.input_tokens + cached + written,
							...{ output_tokens: usage.output_tokens, cached_input_tokens: cached },
						},
			cost_usd: told.total_cost_usd ?? null,
			denied_tools: told.permission_denials?.map(({ tool_name }) => tool_name) ?? [],
		},
	};
}
