/** opencode. Measured with 1.18. */

import { PLAIN_PROFILE, type TurnCause } from "../core/adapter.js";
import { answerOf } from "../core/finish.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
import { type FailedAttempt, type SignMeaning, shorten } from "../core/sign.js";
import { failureOf } from "../core/turn-failure.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";

const CONFIG = { plugin: ["file://<folder>/reeve-plugin.js"] };

export const opencode: AgentAdapter = {
	name: "opencode",
	profile: {
		...PLAIN_PROFILE,
		command: ["opencode"],
		env: {
			OPENCODE_DISABLE_AUTOUPDATE: "1",
			OPENCODE_CONFIG_CONTENT: JSON.stringify(CONFIG),
			// It installs an npm package before it loads a plugin. Without a network npm retries for 70 s, and
			// behind a firewall that drops packets it waits for minutes. The plugin works without the package.
			npm_config_fetch_retries: "0",
			npm_config_fetch_timeout: "10000",
		},
		exits: {
			codes: [],
			texts: [
				{
					match: "ConfigInvalidError|ConfigJsonError|unknown argument|is not valid JSON",
					cause: "config",
					fix: "Correct the agent's `args` or opencode.json.",
				},
				...SERVICE_TEXTS,
			],
		},
		confirmsPrompts: true,
		tellsTurnEnds: true,
		screen: {
			ready: ["Ask anything", "ctrl\\+p commands"],
			busy: ["[■⬝]{4} .*esc (again to )?interrupt", "\\[retrying in"],
			waitingInput: ["┃\\s+△ Permission required", "┃\\s+Allow once\\s+Allow always"],
			questions: {
				permission: ["△ (Permission required|Always allow)"],
				first: ["△ (Permission required|Always allow)"],
				subject: ["△ Permission required\\s*\\n[\\s┃]*[←→$#*]?\\s*(\\S.*?)\\s*$"],
				row: "┃\\s+(Allow once\\s+Allow always\\s+Reject|Confirm\\s+Cancel)\\s{2,}",
			},
			rateLimited: [],
			questionsReplaceInput: true,
			dialogs: [],
		},
		// The first Esc only arms the interrupt.
		drain: ["turn", "esc", "esc", "sigterm"],
		// It leaves 19 MB there at every start.
		ownTmpdir: true,
		conversation: {
			id: "reported",
			fresh: [],
			resume: ["-s", "<conversation>"],
			gone: ["[Ss]ession not found", "NotFound"],
			transcript: [],
		},
	},
	readRecord(event, data, reader) {
		const meaning = meaningOf(event, data, reader);
		const id = data["sessionID"];
		return meaning === null || typeof id !== "string" ? meaning : { ...meaning, conversation: id };
	},
	programs: [
		{ name: "reeve-plugin.js", source: new URL("./opencode/reeve-plugin.js", import.meta.url) },
	],
	usage: { files: ["<folder>/opencode-usage.jsonl"], read: readUsage },
};

function meaningOf(event: string, data: JsonRecord, reader: SignReader): SignMeaning | null {
	switch (event) {
		case "prompt":
			return { activity: "busy", prompt: String(data["text"] ?? "") };
		case "status":
			return statusOf(data, reader);
		case "attempt":
			return { activity: "busy", ...attemptOf(data, reader) };
		case "tool":
			return { activity: "busy", inTool: data["running"] !== 0 };
		case "permission.asked":
			return { activity: "waiting_input", question: questionOf(data) };
		case "permission.replied":
			return { activity: "busy" };
		case "idle":
			return {
				activity: "ready",
				inTool: false,
				...answerOf(data["answer"]),
				...endOf(data, reader),
			};
		default:
			return null;
	}
}

function questionOf({ permission, patterns }: JsonRecord): NonNullable<SignMeaning["question"]> {
	const about = Array.isArray(patterns) ? `: ${patterns.join(", ")}` : "";
	return { kind: "permission", text: shorten(`${permission}${about}`) };
}

/** A later retry no longer counts as work. It honours `retry-after` of up to 24 days. */
const RETRY_SOON_MS = 60_000;

function statusOf(data: JsonRecord, { resetAtMs: readReset }: SignReader): SignMeaning {
	const { type, message, attempt, next } = Object(data["status"]) as JsonRecord;
	if (type !== "retry") return { activity: "busy" };
	const { failure, detail = "no text" } = failureOf({ text: String(message ?? ""), readReset });
	const isFar = numberOf(next) - numberOf(data["at"]) > RETRY_SOON_MS;
	if (!isFar || failure?.cause !== "usage_limit") {
		return { activity: "busy", attempt: seriesOf(data, failure ?? UNKNOWN), detail };
	}
	const limit = { cause: "usage_limit", resetAtMs: numberOf(next) } as const;
	const attemptText = `attempt ${attempt} failed: ${detail}`;
	return { activity: "rate_limited", failure: limit, detail: attemptText };
}

const UNKNOWN = { cause: "unknown", resetAtMs: null } as const;

/** The plugin counts, because only the last of frequent events is kept. */
function seriesOf(data: JsonRecord, failed: FailedAttempt): FailedAttempt {
	const { count, since } = Object(data["attempts"]) as JsonRecord;
	return { ...failed, count: numberOf(count) || 1, sinceMs: numberOf(since) };
}

const NOTHING = "The service returned an empty response: no text, no tool call, no tokens.";

/** A failed request within a turn. The CLI compacts the conversation or repeats the request. */
function attemptOf(data: JsonRecord, reader: SignReader): SignMeaning {
	if (data["empty"] === true) return { attempt: seriesOf(data, UNKNOWN), detail: NOTHING };
	const { failure, detail } = endOf(data, reader);
	return {
		attempt: seriesOf(data, failure ?? UNKNOWN),
		...(detail === undefined ? {} : { detail }),
	};
}

const CAUSES: Readonly<Record<string, TurnCause>> = {
	ProviderAuthError: "auth",
	ContextOverflowError: "context_full",
	ContentFilterError: "refused",
};

/** The end of a turn: success, an error, or an interruption, which is unrelated to the service. */
function endOf(
	{ error, finished, empty }: JsonRecord,
	{ resetAtMs: readReset }: SignReader,
): SignMeaning {
	if (!error && empty === true && finished !== true) return { failure: UNKNOWN, detail: NOTHING };
	if (!error) return finished === true ? { failure: null } : {};
	const { name, data } = error as JsonRecord;
	const { message, statusCode, responseBody } = Object(data) as JsonRecord;
	// The user interrupted it.
	if (name === "MessageAbortedError") return {};
	const text = [statusCode, message ?? name].filter((each) => each !== undefined).join(" ");
	const cause = typeof name === "string" ? CAUSES[name] : undefined;
	const body = `${text} ${responseBody ?? ""}`;
	return failureOf({ text, body, status: numberOf(statusCode), cause, readReset });
}

function readUsage({ id, tokens, cost }: JsonRecord): UsageReading | null {
	if (typeof id !== "string" || !tokens) return null;
	const reported = Object(tokens) as JsonRecord;
	const cache = Object(reported["cache"]) as JsonRecord;
	return {
		key: id,
		isTotal: false,
		costUsd: cost === undefined ? null : numberOf(cost),
		input: numberOf(reported["input"]),
		output: numberOf(reported["output"]) + numberOf(reported["reasoning"]),
		cacheRead: numberOf(cache["read"]),
		cacheWrite: numberOf(cache["write"]),
	};
}
