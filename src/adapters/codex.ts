/** OpenAI Codex. Measured with 0.166. */

import { PLAIN_PROFILE, type TurnCause } from "../core/adapter.js";
import type { SignMeaning } from "../core/sign.js";
import { failureOf, SERVICE_TEXTS } from "../core/turn-failure.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";

/**
 * Called with the event as its last argument, for turns that went well only: also for those of a thread
 * on the side, which finds a title. So it tells which conversations there are; their records tell the rest.
 */
const NOTIFY = 'notify=["sh","-c","sh \\"$REEVE_HOOK\\" notify each \\"$1\\"","reeve"]';

export const codex: AgentAdapter = {
	name: "codex",
	profile: {
		...PLAIN_PROFILE,
		command: ["codex"],
		// Settings of this start alone: the user's own file is not touched.
		args: [
			// Otherwise the work moves into a process that outlives every way to stop the agent.
			...["-c", "features.daemon_auto_start=false"],
			...["-c", "check_for_update_on_startup=false"],
			// At a limit it would ask for another model, and what is typed next would answer that.
			...["-c", "notice.hide_rate_limit_model_nudge=true"],
			// Its hooks would tell more, but they only run when all hooks of the folder run unreviewed.
			...["-c", NOTIFY],
		],
		seedArgs: ["-c", 'projects={"<cwd>"={trust_level="trusted"}}'],
		confirmsPrompts: true,
		// While it streams an answer, its screen looks as if it were ready.
		tellsTurnEnds: true,
		screen: {
			// Its input stands above its status; what was submitted before has the same mark.
			ready: ["^› Ask Codex to do anything", "^› .*\\n(  .*\\n)*\\s*\\n  \\S.* · [~/]"],
			questionsReplaceInput: true,
			busy: ["^[•◦] .*\\(\\d[^()]*• esc to interrupt\\)"],
			retrying: ["^[•◦] Reconnecting\\.\\.\\. "],
			waitingInput: ["^\\s*› \\d+\\. ", "enter select · esc back", "Press enter to continue"],
			rateLimited: ["^■ You.ve hit your usage limit"],
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
			id: "told",
			fresh: [],
			resume: ["resume", "<conversation>"],
			gone: ["[Nn]o (saved )?(session|conversation|thread|rollout)", "not found"],
			transcript: [
				"<CODEX_HOME>/sessions/*/*/*/rollout-*-<conversation>.jsonl",
				"<home>/.codex/sessions/*/*/*/rollout-*-<conversation>.jsonl",
			],
			// It begins at the first prompt, and is told at the end of the first good turn.
			heldOpen: true,
		},
	},
	readRecord(event, data) {
		if (event !== "notify" || data["type"] !== "agent-turn-complete") return null;
		const [prompt] = Array.isArray(data["input-messages"]) ? data["input-messages"].slice(-1) : [];
		return {
			...(typeof data["thread-id"] === "string" ? { conversation: data["thread-id"] } : {}),
			...(typeof prompt === "string" ? { prompt } : {}),
		};
	},
	readTranscript,
	usage: { read: readUsage },
};

/** Its record has all that its hooks leave out: turns that begin and that fail, prompts, tools. */
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
			return { activity: "ready", inTool: false, ...outcomeOf(payload["error"], read) };
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
 * A turn that fails is complete too, with an error that has a name, a name with details such as the HTTP
 * status, or only a text.
 */
function outcomeOf(error: unknown, { resetAtMs: readReset }: SignReader): SignMeaning {
	if (!error) return { failure: null };
	const { message, codex_error_info: info } = Object(error) as JsonRecord;
	const text = String(message ?? "");
	// All that it says of an account without credit, under the name of a usage limit.
	if (text.startsWith("Quota exceeded.")) return failureOf({ text, cause: "billing", readReset });
	if (typeof info === "string") return failureOf({ text, cause: CAUSES[info], readReset });
	const [details] = Object.values(Object(info) as JsonRecord);
	const status = numberOf((Object(details) as JsonRecord)["http_status_code"]);
	return failureOf({ text, status, readReset });
}

/** The same count is told again with news of other kinds, so only the sum can be relied on. */
function readUsage(line: JsonRecord): UsageReading | null {
	const { type, info } = Object(line["payload"]) as JsonRecord;
	const total = (Object(info) as JsonRecord)["total_token_usage"];
	if (line["type"] !== "event_msg" || type !== "token_count" || !total) return null;
	const told = Object(total) as JsonRecord;
	const cacheRead = numberOf(told["cached_input_tokens"]);
	const cacheWrite = numberOf(told["cache_write_input_tokens"]);
	return {
		key: "total",
		isTotal: true,
		costUsd: null,
		cacheRead,
		cacheWrite,
		input: Math.max(0, numberOf(told["input_tokens"]) - cacheRead - cacheWrite),
		output: numberOf(told["output_tokens"]),
	};
}
