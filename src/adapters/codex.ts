/** OpenAI Codex. Measured with 0.166. */

import { PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import { failureOf } from "../core/exit-cause.js";
import type { SignMeaning } from "../core/sign.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";

/** Called with the event as its last argument, for turns that went well only. */
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
			...["-c", 'projects={"<cwd>"={trust_level="trusted"}}'],
			// Its hooks would tell more, but they only run when all hooks of the folder run unreviewed.
			...["-c", NOTIFY],
		],
		confirmsPrompts: true,
		// While it streams an answer, its screen looks as if it were ready.
		tellsTurnEnds: true,
		screen: {
			ready: ["^› Ask Codex to do anything", "^› "],
			busy: ["esc to interrupt"],
			waitingInput: ["^\\s*› \\d+\\. ", "enter select · esc back", "Press enter to continue"],
			rateLimited: ["hit your usage limit"],
			dialogs: [
				{ name: "trust", when: "Do you trust the contents of this directory", choose: "^Yes" },
			],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		exits: {
			codes: [],
			zeroLies: false,
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
		},
	},
	readRecord(event, data) {
		if (event !== "notify" || data["type"] !== "agent-turn-complete") return null;
		const [prompt] = Array.isArray(data["input-messages"]) ? data["input-messages"].slice(-1) : [];
		return {
			...{ activity: "ready", failure: null },
			...(typeof data["thread-id"] === "string" ? { conversation: data["thread-id"] } : {}),
			...(typeof prompt === "string" ? { prompt } : {}),
		};
	},
	readTranscript,
	usage: { read: readUsage },
};

/** Its record has all that its hooks leave out: turns that begin and that fail. */
function readTranscript(line: JsonRecord, { resetAtMs }: SignReader): SignMeaning | null {
	const { payload } = line;
	if (line["type"] !== "event_msg" || typeof payload !== "object" || payload === null) return null;
	const { type, message } = payload as JsonRecord;
	switch (type) {
		case "task_started":
			return { activity: "busy" };
		case "user_message":
			return { activity: "busy", prompt: String(message ?? "") };
		case "task_complete":
			return { activity: "ready", failure: null };
		case "turn_aborted":
			return { activity: "ready" };
		case "error":
			return { activity: "ready", ...failureOf(String(message ?? ""), resetAtMs) };
		default:
			return null;
	}
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
		...{ key: "total", isTotal: true, costUsd: null, cacheRead, cacheWrite },
		input: Math.max(0, numberOf(told["input_tokens"]) - cacheRead - cacheWrite),
		output: numberOf(told["output_tokens"]),
	};
}
