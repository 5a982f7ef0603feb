/** Gemini CLI without a terminal: a prompt on stdin and `-o stream-json`. */

import {
	type CallUsage,
	endOfFailed,
	failed,
	type HeadlessEnd,
	type HeadlessFailure,
	lastLine,
	NOTHING_REPORTED,
	parseEvents,
	parsePrompt,
	readingOf,
	renderHeadless,
	waitIn,
} from "../../core/headless.js";
import type { HeadlessAdapter, PrintedCall } from "../../ports/executor.js";

interface GeminiEvent {
	readonly type?: string;
	readonly session_id?: string;
	readonly role?: string;
	readonly content?: string;
	readonly status?: string;
	readonly error?: { readonly message?: string };
	readonly stats?: {
		readonly input_tokens?: number;
		readonly output_tokens?: number;
		readonly cached?: number;
	};
}

/** Its own exit codes. Any other is the HTTP status modulo 256, or meaningless. */
const CODES: Readonly<Record<number, HeadlessFailure>> = {
	41: "auth",
	42: "bad_request",
	44: "config",
	52: "config",
	53: "failure",
	55: "config",
};

/** The exit codes for 401, 403, 429 and so on. */
const STATUSES = new Map([400, 401, 403, 404, 429, 500, 502, 503, 529].map((s) => [s & 255, s]));

export const geminiHeadless: HeadlessAdapter = {
	name: "gemini",
	prepare({ argv, env }, request) {
		const asked = parsePrompt(request);
		if ("code" in asked) return asked;
		const resume = asked.conversation === null ? [] : ["--resume", asked.conversation];
		// It does not respond in a directory that the user has not trusted.
		const trust = argv.includes("--skip-trust") ? [] : ["--skip-trust"];
		return {
			argv: [...argv, ...trust, "-o", "stream-json", ...resume],
			// Its launcher ignores signals and hides the process that does the work.
			env: { GEMINI_CLI_NO_RELAUNCH: "true", ...env },
			stdin: asked.prompt,
			ownTmpdir: true,
		};
	},
	parse: (request, printed) => renderHeadless(request, read(printed)),
	used: (stdout) => readingOf(spentOf(parseEvents(stdout) as readonly GeminiEvent[])),
};

function read(printed: PrintedCall): HeadlessEnd {
	const events = parseEvents(printed.stdout) as readonly GeminiEvent[];
	const result = events.findLast(({ type }) => type === "result");
	if (result?.status === "success") return answered(events);
	const message = result?.error?.message ?? lastLine(printed.stderr);
	if (/exhausted your .*quota|Usage limit reached/i.test(message)) {
		return failed("usage_limit", message, waitIn(message, printed));
	}
	if (message.includes("resuming session") || printed.stderr.includes("Error resuming session")) {
		return failed("conversation_gone", message);
	}
	const status = statusOf(message, printed.code);
	if (status !== null) return endOfFailed({ message, status }, printed);
	const own = CODES[printed.code ?? 0];
	if (own !== undefined) return failed(own, message);
	if (/terminated|ECONN|fetch failed/i.test(message)) return failed("connection", message);
	return endOfFailed({ message: message || "it exited without a result" }, printed);
}

/** From its text, otherwise from its exit code, which is ambiguous. */
function statusOf(message: string, code: number | null): number | null {
	const reported = /"code":(\d{3})/.exec(message)?.[1];
	if (reported !== undefined) return Number(reported);
	if (code === null || Object.hasOwn(CODES, code)) return null;
	return STATUSES.get(code) ?? null;
}

function answered(events: readonly GeminiEvent[]): HeadlessEnd {
	const replies = events.filter(({ type, role }) => type === "message" && role === "assistant");
	return {
		type: "answered",
		answer: {
			text: replies.map(({ content }) => content ?? "").join(""),
			conversation: events.find(({ type }) => type === "init")?.session_id ?? null,
			...spentOf(events),
			denied_tools: [],
		},
	};
}

function spentOf(events: readonly GeminiEvent[]): CallUsage {
	const stats = events.findLast(({ type }) => type === "result")?.stats;
	if (stats === undefined) return NOTHING_REPORTED;
	const { input_tokens = 0, output_tokens = 0, cached = 0 } = stats;
	return { usage: { input_tokens, output_tokens, cached_input_tokens: cached }, cost_usd: null };
}
