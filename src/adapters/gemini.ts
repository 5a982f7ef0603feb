/** Gemini CLI. Measured with 0.61. */

import { PLAIN_PROFILE, type TextCause } from "../core/adapter.js";
import { answerOf } from "../core/finish.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
import type { SignMeaning } from "../core/sign.js";
import { failureOf } from "../core/turn-failure.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, LogMeaning, SignReader } from "../ports/adapter.js";

export const gemini: AgentAdapter = {
	name: "gemini",
	profile: {
		...PLAIN_PROFILE,
		command: ["gemini"],
		// Its hooks would need the user's settings, or system settings that only root can change.
		seedArgs: ["--skip-trust"],
		env: {
			// Its launcher swallows every signal; without it there is one process, which exits.
			GEMINI_CLI_NO_RELAUNCH: "true",
		},
		confirmsPrompts: true,
		screen: {
			// Also with text in its input: an Enter soon after its start is swallowed.
			ready: ["Type your message", "^ [*>] .*\\n(.*\\n){0,6}? workspace \\(/directory\\)"],
			// It assumes that a silent tool waits for input.
			busy: ["\\(esc to cancel, [\\dhms ]+\\)", "Shell awaiting input \\(Tab to focus\\)"],
			questions: {
				permission: ["^[\\s│]*(Allow|Apply|Do you want to|Approve)\\b.*\\?"],
				first: ["^│ \\? "],
				subject: ["^│ \\? \\S+ +(\\S.*?)[ │]*$"],
			},
			waitingInput: ["^[\\s│]*● \\d+\\. ", "Waiting for user confirmation"],
			retrying: ["This is taking a bit longer", "Trying to reach .* \\(Attempt \\d+/\\d+\\)"],
			// The transcript contains a tool only after it has finished.
			inTool: ["^[\\s│]*[⊶⊷] "],
			rateLimited: ["^│ Usage limit reached for"],
			questionsReplaceInput: true,
			resumed: ["^ > \\S", "^✦ "],
			dialogs: [
				{ name: "trust", when: "Do you trust the files in this folder", choose: "^Trust folder" },
				// After some failed requests it asks before it ends the turn. Reeve decides about retries.
				{
					name: "failed_request",
					at: "failure",
					when: "^[\\s│●]*\\d+\\. Keep trying",
					choose: "^Stop$",
				},
			],
		},
		// It retries most failed requests for minutes, and reports that only in its telemetry.
		log: {
			files: ["<folder>/gemini-telemetry.json"],
			env: {
				GEMINI_TELEMETRY_ENABLED: "true",
				GEMINI_TELEMETRY_TARGET: "local",
				GEMINI_TELEMETRY_OUTFILE: "<folder>/gemini-telemetry.json",
				GEMINI_TELEMETRY_LOG_PROMPTS: "false",
			},
			unless: [
				{ file: ["<home>/.gemini/settings.json"], path: ["telemetry"] },
				{ file: ["<cwd>/.gemini/settings.json"], path: ["telemetry"] },
			],
			rules: [],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		exits: {
			codes: [
				{ code: 41, cause: "auth" },
				{ code: 42, cause: "config" },
				{ code: 44, cause: "config" },
				{ code: 52, cause: "config" },
				{ code: 55, cause: "config" },
				// Without a terminal it exits with the lower eight bits of the HTTP status.
				...[401, 403].map((status) => ({ code: status & 255, cause: "auth" }) as const),
				{ code: 429 & 255, cause: "usage_limit" },
				...[500, 502, 503, 504, 529].map(
					(status) => ({ code: status & 255, cause: "overloaded" }) as const,
				),
			],
			texts: [
				{
					match: "invalid auth method|auth method",
					cause: "auth",
					fix: "Choose a way to log in: start `gemini` once by hand, or set `security.auth.selectedType` in its settings.",
				},
				{ match: "unknown argument|invalid configuration", cause: "config", fix: null },
				...SERVICE_TEXTS,
			],
		},
		conversation: {
			id: "chosen",
			fresh: ["--session-id", "<conversation>"],
			resume: ["--resume", "<conversation>"],
			gone: ["Invalid session identifier", "No previous sessions", "Error resuming session"],
			transcript: ["<home>/.gemini/tmp/*/chats/session-*-<conversation8>.jsonl"],
		},
	},
	readTranscript,
	readLog,
	usage: { read: readUsage },
};

/** Its texts for a lost connection. */
const FAILURES: readonly TextCause[] = [
	...SERVICE_TEXTS,
	{ match: "API Error: (terminated|fetch failed)", cause: "overloaded", fix: null },
];

/** Its transcript contains every prompt and response, but not the end of a turn, which is visible on the screen. */
function readTranscript(
	line: JsonRecord,
	{ resetAtMs: readReset }: SignReader,
): SignMeaning | null {
	const words = textOf(line["content"]);
	switch (line["type"]) {
		case "user":
			return { activity: "busy", prompt: words };
		case "gemini":
			return { failure: null, ...answerOf(words) };
		case "error":
			return failureOf({ text: words, texts: FAILURES, readReset });
		default:
			return null;
	}
}

/** Background requests, such as the choice of a model, fail without consequences. */
const ASIDE = /^utility/;

const RECORD_LAG_MS = 500;

/** Its telemetry contains every request of a turn, with the status and the text of the service. */
function readLog({ attributes }: JsonRecord, { resetAtMs }: SignReader): LogMeaning | null {
	const event = Object(attributes) as JsonRecord;
	if (ASIDE.test(String(event["role"] ?? ""))) return null;
	const loggedAtMs = Date.parse(String(event["event.timestamp"]));
	const at = Number.isNaN(loggedAtMs) ? {} : { atMs: loggedAtMs };
	switch (event["event.name"]) {
		case "gemini_cli.api_error": {
			const body = String(event["error.message"] ?? event["error"] ?? "");
			const status = numberOf(event["status_code"]);
			const text = [status || "", serviceText(body)].join(" ").trim();
			const { failure, detail = text } = failureOf({
				text,
				body,
				status,
				texts: FAILURES,
				readReset: () => resetAtMs(body),
			});
			return { ...at, attempt: failure ?? null, detail };
		}
		case "gemini_cli.api_response": {
			const { finish_reasons: reasons } = event;
			if (!Array.isArray(reasons) || !reasons.includes("content_filter")) {
				return { ...at, attempt: null };
			}
			// The partial response is written to the transcript right after this.
			return {
				...(Number.isNaN(loggedAtMs) ? {} : { atMs: loggedAtMs + RECORD_LAG_MS }),
				failure: { cause: "refused", resetAtMs: null },
				detail: "Response stopped by the content filter of the service.",
			};
		}
		default:
			return null;
	}
}

/** The message in the response body of the service; otherwise the body itself. */
function serviceText(body: string): string {
	try {
		const { error } = Object(JSON.parse(body)) as JsonRecord;
		const { message } = Object(error) as JsonRecord;
		return typeof message === "string" ? message : body;
	} catch {
		return body;
	}
}

function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content.map((part) => String((part as JsonRecord)["text"] ?? "")).join("");
}

/** A response is written again when its tools have run. */
function readUsage(line: JsonRecord): UsageReading | null {
	const { type, id, tokens } = line;
	if (type !== "gemini" || typeof id !== "string" || !tokens) return null;
	const reported = Object(tokens) as JsonRecord;
	const cacheRead = numberOf(reported["cached"]);
	return {
		key: id,
		isTotal: false,
		costUsd: null,
		cacheRead,
		cacheWrite: 0,
		input: Math.max(0, numberOf(reported["input"]) - cacheRead) + numberOf(reported["tool"]),
		output: numberOf(reported["output"]) + numberOf(reported["thoughts"]),
	};
}
