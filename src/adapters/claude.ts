/** Claude Code. Measured with 2.1.325. */

import { type KnownCause, PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import { failureOf } from "../core/exit-cause.js";
import type { SignMeaning } from "../core/sign.js";
import { NO_USAGE, numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";

/** Of most events each is kept; of those that come with every tool, only that there was one. */
const HOOKS = {
	each: [
		...["SessionStart", "UserPromptSubmit", "PermissionRequest", "Notification"],
		...["Stop", "StopFailure", "SessionEnd"],
	],
	last: ["PreToolUse", "PostToolUse", "PostToolUseFailure"],
};

const hook = (event: string, keep: "each" | "last") => ({
	hooks: [{ type: "command", command: `sh "$REEVE_HOOK" ${event} ${keep}`, timeout: 10 }],
});

/** Handed over with `--settings`: the user's own settings and hooks stay as they are. */
const SETTINGS = {
	hooks: Object.fromEntries([
		...HOOKS.each.map((event) => [event, [hook(event, "each")]]),
		...HOOKS.last.map((event) => [event, [hook(event, "last")]]),
	]),
};

export const claude: AgentAdapter = {
	name: "claude",
	profile: {
		...PLAIN_PROFILE,
		command: ["claude"],
		env: { DISABLE_AUTOUPDATER: "1" },
		args: ["--settings", "<folder>/claude-settings.json"],
		confirmsPrompts: true,
		screen: {
			// Its input stands below a rule; what was submitted before has the same mark.
			ready: ["^[─━]{10}.*\\n❯(\\s|$)"],
			questionsReplaceInput: true,
			// In its footer or beside its spinner: an answer may talk of it too.
			busy: ["(^|[·(] ?)\\s*esc to interrupt"],
			waitingInput: [
				"^\\s*❯ \\d+\\. ",
				"^\\s*Enter to \\w+ · Esc to \\w+",
				"Esc to (cancel|go back|exit)",
			],
			// Its hooks tell of a limit. On the screen the words of an answer could not be told from its own.
			rateLimited: [],
			dialogs: [
				{
					name: "trust",
					when: "(one you trust|trust the files)\\b",
					choose: "^Yes, (I trust|proceed)",
				},
				{ name: "bypass_permissions", when: "Bypass Permissions mode", choose: "^Yes, I accept" },
				{ name: "api_key", when: "Detected a custom API key", choose: "^Yes$" },
			],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		files: [{ name: "claude-settings.json", text: JSON.stringify(SETTINGS) }],
		exits: {
			codes: [],
			zeroLies: false,
			texts: [
				{
					match: "cannot be used with root/sudo privileges",
					cause: "config",
					fix: 'Run it as another user, leave the argument out, or set `env: { IS_SANDBOX: "1" }` where the host is a sandbox.',
				},
				{
					match: "unknown option|invalid (settings|configuration)|configuration error",
					cause: "config",
					fix: "Correct the agent's `args` or claude's settings.",
				},
				...SERVICE_TEXTS,
			],
		},
		conversation: {
			id: "chosen",
			fresh: ["--session-id", "<conversation>"],
			resume: ["--resume", "<conversation>"],
			gone: ["No conversation found"],
			// The folder is named after the working directory by a rule that has changed before.
			transcript: [
				"<CLAUDE_CONFIG_DIR>/projects/*/<conversation>.jsonl",
				"<home>/.claude/projects/*/<conversation>.jsonl",
			],
		},
		// The answer that a person would give first to each of these dialogs is "No, exit".
		seeds: [
			{
				file: ["<CLAUDE_CONFIG_DIR>/.claude.json", "<home>/.claude.json"],
				set: [
					{ path: ["hasCompletedOnboarding"], value: true },
					{ path: ["projects", "<cwd>", "hasTrustDialogAccepted"], value: true },
					{ path: ["projects", "<cwd>", "hasCompletedProjectOnboarding"], value: true },
				],
			},
		],
	},
	readRecord,
	readTranscript,
	usage: {
		read: readUsage,
		// Its subagents have records of their own.
		beside: (path) => path.replace(/\.jsonl$/, "/subagents"),
	},
};

function readRecord(event: string, data: JsonRecord, read: SignReader): SignMeaning | null {
	const meaning = meaningOf(event, data, read);
	const id = data["session_id"];
	return meaning === null || typeof id !== "string" ? meaning : { ...meaning, conversation: id };
}

function meaningOf(event: string, data: JsonRecord, read: SignReader): SignMeaning | null {
	switch (event) {
		case "SessionStart":
			return { activity: "ready" };
		case "UserPromptSubmit":
			return { activity: "busy", prompt: String(data["prompt"] ?? "") };
		case "PreToolUse":
			return { activity: "busy", inTool: true };
		case "PostToolUse":
		case "PostToolUseFailure":
			return { activity: "busy", inTool: false };
		case "PermissionRequest":
			return { activity: "waiting_input", detail: `asks to use ${data["tool_name"]}` };
		case "Notification":
			return data["notification_type"] === "permission_prompt"
				? { activity: "waiting_input" }
				: null;
		case "Stop":
			return { activity: "ready", failure: null, inTool: false };
		case "StopFailure":
			return { activity: "ready", ...failedTurn(data, read) };
		case "SessionEnd":
			return { activity: "unknown" };
		default:
			return null;
	}
}

const CAUSES: Readonly<Record<string, KnownCause>> = {
	authentication_failed: "auth",
	billing_error: "usage_limit",
	rate_limit: "usage_limit",
	server_error: "overloaded",
};

/** The error has a name; when it ends is only told in words. */
function failedTurn(data: JsonRecord, { resetAtMs }: SignReader): SignMeaning {
	const words = String(data["last_assistant_message"] ?? data["error_details"] ?? "");
	const cause = CAUSES[String(data["error"])];
	if (cause === undefined) return failureOf(words, resetAtMs);
	return { failure: { cause, resetAtMs: resetAtMs(words) }, detail: words };
}

function readTranscript(line: JsonRecord, { resetAtMs }: SignReader): SignMeaning | null {
	if (line["type"] !== "assistant") return null;
	if (line["isApiErrorMessage"] !== true) return { failure: null };
	return failureOf(JSON.stringify(line["message"] ?? ""), resetAtMs);
}

/** A message stands on one line for each of its parts, with more output on the later ones. */
function readUsage(line: JsonRecord): UsageReading | null {
	if (line["type"] === "cost-state") {
		const costUsd = numberOf(line["totalCostUSD"]);
		return { ...NO_USAGE, key: "cost", isTotal: true, costUsd };
	}
	const { id, usage } = Object(line["message"]) as JsonRecord;
	if (line["type"] !== "assistant" || typeof id !== "string") return null;
	const told = Object(usage) as JsonRecord;
	return {
		...{ key: id, isTotal: false, costUsd: null },
		input: numberOf(told["input_tokens"]),
		output: numberOf(told["output_tokens"]),
		cacheRead: numberOf(told["cache_read_input_tokens"]),
		cacheWrite: numberOf(told["cache_creation_input_tokens"]),
	};
}
