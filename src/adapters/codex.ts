/** OpenAI Codex. Measured with 0.166. */

import { PLAIN_PROFILE, type TurnCause } from "../core/adapter.js";
import { answerOf } from "../core/finish.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
import type { SignMeaning } from "../core/sign.js";
import { failureOf } from "../core/turn-failure.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";

/**
 * Called with the event as its last argument, only for successful turns, including those of the background thread that
 * finds a title. It reveals the conversation ids; their transcripts provide the rest.
 */
const NOTIFY = 'notify=["sh","-c","sh \\"$REEVE_HOOK\\" notify each \\"$1\\"","reeve"]';

export const codex: AgentAdapter = {
	name: "codex",
	profile: {
		...PLAIN_PROFILE,
		command: ["codex"],
		// Settings of this start only: the user's own file is not changed.
		args: [
			// Otherwise the work moves into a process that survives every attempt to stop the agent.
			...["-c", "features.daemon_auto_start=false"],
			...["-c", "check_for_update_on_startup=false"],
			// At a limit it would offer another model, and the next input would answer that.
			...["-c", "notice.hide_rate_limit_model_nudge=true"],
			// Its hooks would report more, but they only run if all hooks of the directory run unreviewed.
			...["-c", NOTIFY],
		],
		seedArgs: ["-c", 'projects={"<cwd>"={trust_level="trusted"}}'],
		confirmsPrompts: true,
		// While it streams a response, its screen looks ready.
		tellsTurnEnds: true,
		screen: {
			// Its input is above its status; submitted prompts have the same mark.
			ready: ["^› Ask Codex to do anything", "^› .*\\n(  .*\\n)*\\s*\\n  \\S.* · [~/]"],
			questionsReplaceInput: true,
			busy: ["^[•◦] .*\\(\\d[^()]*• esc to interrupt\\)"],
			retrying: ["^[•◦] Reconnecting\\.\\.\\. "],
			questions: {
				permission: ["^\\s*(Would you like to|Do you want to|Allow )\\b.*\\?"],
				first: ["^\\s*(Would you like to|Do you want to|Allow )\\b.*\\?"],
				subject: ["^\\s*\\$ (.+)$", "^\\s*Reason: (.+)$"],
			},
			waitingInput: ["^\\s*› \\d+\\. ", "enter select · esc back", "Press enter to continue"],
			// Its transcript reports limits.
			rateLimited: [],
			dialogs: [
				{ name: "trust", when: "Do you trust the contents of this directory", choose: "^Yes" },
			],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		exits: {
			codes: [],
			texts: [
				{
					match:
						"error loading config|invalid (value|override)|unexpected argument|unrecognized subcommand",
					cause: "config",
					fix: "Correct the agent's `args` or codex's config.toml.",
				},
				...SERVICE_TEXTS,
			],
		},
		conversation: {
			id: "reported",
			fresh: [],
			resume: ["resume", "<conversation>"],
			gone: ["[Nn]o (saved )?(session|conversation|thread|rollout)", "not found"],
			transcript: [
				"<CODEX_HOME>/sessions/*/*/*/rollout-*-<conversation>.jsonl",
				"<home>/.codex/sessions/*/*/*/rollout-*-<conversation>.jsonl",
			],
			// It is created with the first prompt, and reported at the end of the first successful turn.
			heldOpen: true,
		},
	},
	readRecord(event, data) {
		if (event !== "notify" || data["type"] !== "agent-turn-complete") return null;
		const [prompt] = Array.isArray(data["input-messages"]) ? data["input-messages"].slice(-1) : [];
		return {
			...(typeof data["thread-id"] === "string" ? { conversation: data["thread-id"] } : {}),
			...(typeof prompt === "string" ? { prompt } : {}),
			...answerOf(data["last-assistant-message"]),
		};
	},
	readTranscript,
	usage: { read: readUsage },
};

/** Its transcript contains everything that its hooks omit: starts and failures of turns, prompts, tools. */
function readTranscript(line: JsonRecord, read: SignReader): SignMeaning | null {
	const payload = Object(line["payload"]) as JsonRecord;
	const type = String(payload["type"]);
	if (line["type"] === "response_item") {
		if (TOOL_CALL.test(type)) return { activity: "busy", inTool: true };
		return TOOL_OUTPUT.test(type) ? { activity: "busy", inTool: false } : null;
	}
	return line["type"] === "event_msg" ? readEvent(type, payload, read) : null;
}

const TOOL_CALL = /_call$/;
const TOOL_OUTPUT = /_call_output$/;

function readEvent(type: string, payload: JsonRecord, read: SignReader): SignMeaning | null {
	switch (type) {
		case "task_started":
			return { activity: "busy" };
		case "item_completed":
			return readItem(Object(payload["item"]) as JsonRecord);
		case "task_complete":
			return {
				activity: "ready",
				inTool: false,
				...answerOf(payload["last_agent_message"]),
				...outcomeOf(payload["error"], read),
			};
		case "turn_aborted":
			return { activity: "ready", inTool: false };
		default:
			return null;
	}
}

function readItem({ type, content }: JsonRecord): SignMeaning | null {
	if (type !== "UserMessage" || !Array.isArray(content)) return null;
	const words = content.map((part) => (Object(part) as JsonRecord)["text"] ?? "");
	return { activity: "busy", prompt: words.join("") };
}

const CAUSES: Readonly<Record<string, TurnCause>> = {
	usage_limit_exceeded: "usage_limit",
	unauthorized: "auth",
	server_overloaded: "overloaded",
	internal_server_error: "overloaded",
	context_window_exceeded: "context_full",
	bad_request: "invalid_request",
};

/**
 * A failed turn is complete too, with an error that is a name, a name with details such as the HTTP
 * status, or only a text.
 */
function outcomeOf(error: unknown, { resetAtMs: readReset }: SignReader): SignMeaning {
	if (!error) return { failure: null };
	const { message, codex_error_info: info } = Object(error) as JsonRecord;
	const text = String(message ?? "");
	// The only text for an account without credit, under the name of a usage limit.
	if (text.startsWith("Quota exceeded.")) return failureOf({ text, cause: "billing", readReset });
	if (typeof info === "string") {
		// Its other names are those of the services.
		const body = `${text} ${JSON.stringify({ code: info })}`;
		return failureOf({ text, body, cause: CAUSES[info], readReset });
	}
	const [details] = Object.values(Object(info) as JsonRecord);
	const status = numberOf((Object(details) as JsonRecord)["http_status_code"]);
	return failureOf({ text, status, readReset });
}

/** Counts are repeated together with other changes, so only the total is reliable. */
function readUsage(line: JsonRecord): UsageReading | null {
	const { type, info } = Object(line["payload"]) as JsonRecord;
	const total = (Object(info) as JsonRecord)["total_token_usage"];
	if (line["type"] !== "event_msg" || type !== "token_count" || !total) return null;
	const reported = Object(total) as JsonRecord;
	const cacheRead = numberOf(reported["cached_input_tokens"]);
	const cacheWrite = numberOf(reported["cache_write_input_tokens"]);
	return {
		key: "total",
		isTotal: true,
		costUsd: null,
		cacheRead,
		cacheWrite,
		input: Math.max(0, numberOf(reported["input_tokens"]) - cacheRead - cacheWrite),
		output: numberOf(reported["output_tokens"]),
	};
}
