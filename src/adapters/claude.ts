/** Claude Code. Measured with 2.1.325. */

import { PLAIN_PROFILE, type TurnCause } from "../core/adapter.js";
import { answerOf } from "../core/finish.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
import { type SignMeaning, shorten } from "../core/sign.js";
import { failureOf } from "../core/turn-failure.js";
import { NO_USAGE, numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";

/** Of most events each is kept; of those that come with every tool, only the last. */
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

/** Passed with `--settings`: the user's own settings and hooks are not affected. */
const SETTINGS = {
	// Reeve continues one agent of the account first. Otherwise each Claude would continue by itself.
	autoContinueAtUsageLimit: false,
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
		savesPromptsLater: true,
		screen: {
			// Its input is below a rule; submitted prompts have the same mark.
			ready: ["^[─━]{10}.*\\n❯(\\s|$)"],
			questionsReplaceInput: true,
			// In its footer or next to its spinner: a response may mention it too.
			busy: ["(^|[·(] ?)\\s*esc to interrupt"],
			waitingInput: [
				"^\\s*❯ \\d+\\. ",
				"^\\s*Enter to \\w+ · Esc to \\w+",
				"(^|to (confirm|amend|select|navigate|switch|proceed) · )\\s*Esc to (cancel|go back|exit)",
			],
			questions: {
				permission: [
					"Do you want to (proceed|make this edit|create|delete|overwrite|allow|open|use)\\b.*\\?",
				],
				subject: ["^[╌┄]{10,}\\s*\\n\\s*(.+)$"],
			},
			// With the time of day at a usage limit.
			retrying: ["· Retrying in [^·]{1,40}· attempt \\d+"],
			// Its hooks report limits. On the screen they cannot be distinguished from the text of a
			// response.
			rateLimited: [],
			dialogs: [
				{
					name: "trust",
					when: "(one you trust|trust the files)\\b",
					choose: "^Yes, (I trust|proceed)",
				},
				{ name: "bypass_permissions", when: "Bypass Permissions mode", choose: "^Yes, I accept" },
				{
					name: "usage_limit",
					at: "limit",
					when: "^\\s*What do you want to do\\?",
					choose: "^Stop and wait",
				},
				{ name: "api_key", when: "Detected a custom API key", choose: "^Yes$" },
			],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		files: [{ name: "claude-settings.json", text: JSON.stringify(SETTINGS) }],
		exits: {
			codes: [],
			texts: [
				{
					match: "cannot be used with root/sudo privileges",
					cause: "config",
					fix: 'Run it as another user, remove the argument, or set `env: { IS_SANDBOX: "1" }` if the host is a sandbox.',
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
			// The directory is named after the working directory by a rule that has changed before.
			transcript: [
				"<CLAUDE_CONFIG_DIR>/projects/*/<conversation>.jsonl",
				"<home>/.claude/projects/*/<conversation>.jsonl",
			],
		},
		// The preselected answer of each of these dialogs is "No, exit".
		seeds: [
			{
				file: ["<CLAUDE_CONFIG_DIR>/.claude.json", "<home>/.claude.json"],
				set: [
					{ path: ["hasCompletedOnboarding"], value: true },
					// Claude writes false when it has not asked yet, also over an entry that another Claude has lost.
					{ path: ["projects", "<cwd>", "hasTrustDialogAccepted"], value: true, instead: false },
					{ path: ["projects", "<cwd>", "hasCompletedProjectOnboarding"], value: true },
				],
			},
		],
	},
	readRecord,
	readTranscript,
	usage: {
		read: readUsage,
		// Its subagents have their own transcripts.
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
			return {
				activity: "waiting_input",
				detail: `asks to use ${data["tool_name"]}`,
				question: questionOf(data),
			};
		case "Notification":
			return data["notification_type"] === "permission_prompt"
				? { activity: "waiting_input" }
				: null;
		case "Stop":
			return {
				activity: "ready",
				failure: null,
				inTool: false,
				...answerOf(data["last_assistant_message"]),
			};
		case "StopFailure":
			return { activity: "ready", ...failedTurn(data, read) };
		case "SessionEnd":
			return { activity: "unknown" };
		default:
			return null;
	}
}

/** Its tools that ask the user something, instead of for permission. */
const ASKING_TOOLS: ReadonlySet<string> = new Set(["AskUserQuestion", "ExitPlanMode"]);

/** The first of these fields that a tool's input has describes it best. */
const REPORTING = [
	"command",
	"file_path",
	"notebook_path",
	"url",
	"query",
	"pattern",
	"path",
	"skill",
];

function questionOf(data: JsonRecord): NonNullable<SignMeaning["question"]> {
	const tool = String(data["tool_name"] ?? "");
	const input = Object(data["tool_input"]) as JsonRecord;
	const [asked] = Array.isArray(input["questions"]) ? input["questions"] : [];
	const question = (Object(asked) as JsonRecord)["question"];
	if (typeof question === "string") return { kind: "choice", text: shorten(question) };
	const kind = ASKING_TOOLS.has(tool) ? "choice" : "permission";
	const field = REPORTING.find((each) => typeof input[each] === "string");
	const about = field === undefined ? "" : `: ${input[field]}`;
	return { kind, text: shorten(`${tool}${about}`) };
}

const CAUSES: Readonly<Record<string, TurnCause>> = {
	authentication_failed: "auth",
	oauth_org_not_allowed: "auth",
	account_on_hold: "auth",
	verification_required: "auth",
	cloud_credential_error: "auth",
	billing_error: "billing",
	rate_limit: "usage_limit",
	overloaded: "overloaded",
	server_error: "overloaded",
	model_not_found: "config",
	invalid_request: "invalid_request",
};

function failedTurn(data: JsonRecord, { resetAtMs: readReset }: SignReader): SignMeaning {
	const text = String(data["last_assistant_message"] ?? data["error_details"] ?? "");
	return failureOf({ text, cause: CAUSES[String(data["error"])], readReset });
}

function readTranscript(
	line: JsonRecord,
	{ resetAtMs: readReset }: SignReader,
): SignMeaning | null {
	if (line["type"] === "user") return promptOf(line);
	// Each attempt of a request has a line. The cause of a failed attempt is on the screen until the last
	// one has failed.
	if (line["type"] === "api-request") {
		return line["querySource"] === "repl_main_thread" ? { requested: true } : null;
	}
	if (line["type"] !== "assistant") return null;
	const message = Object(line["message"]) as JsonRecord;
	if (line["isApiErrorMessage"] !== true) {
		if (message["stop_reason"] !== "refusal") return { failure: null };
		const detail = shorten(textOf(message["content"]));
		return { failure: { cause: "refused", resetAtMs: null }, detail };
	}
	const cause = CAUSES[String(line["error"])];
	const status = numberOf(line["apiErrorStatus"]);
	const meaning = failureOf({ text: textOf(message["content"]), status, cause, readReset });
	// Its message truncates the end of a limit to the minute.
	const resetsAt = numberOf((Object(line["quotaLimits"]) as JsonRecord)["resetsAt"]);
	if (resetsAt === 0 || meaning.failure?.cause !== "usage_limit") return meaning;
	return { ...meaning, failure: { cause: "usage_limit", resetAtMs: resetsAt * 1_000 } };
}

function textOf(content: unknown): string {
	if (!Array.isArray(content)) return String(content ?? "");
	return content.map((part) => String((Object(part) as JsonRecord)["text"] ?? "")).join("\n");
}

/**
 * A saved prompt. The hook reports it earlier, but its record is lost on a full disk. Tool results are lists with parts
 * of that type, prompts with images lists of other parts; lines of subagents and of the CLI itself are not prompts.
 */
function promptOf(line: JsonRecord): SignMeaning | null {
	const { content } = Object(line["message"]) as JsonRecord;
	if (line["isSidechain"] === true || line["isMeta"] === true) return null;
	if (typeof content === "string") return { prompt: content };
	const parts = (Array.isArray(content) ? content : []).map((part) => Object(part) as JsonRecord);
	if (parts.some(({ type }) => type === "tool_result")) return null;
	const prompt = parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
	return prompt === "" ? null : { prompt };
}

/** A message has one line for each of its parts, with more output on the later ones. */
function readUsage(line: JsonRecord): UsageReading | null {
	if (line["type"] === "cost-state") {
		const costUsd = numberOf(line["totalCostUSD"]);
		return { ...NO_USAGE, key: "cost", isTotal: true, costUsd };
	}
	const { id, usage } = Object(line["message"]) as JsonRecord;
	if (line["type"] !== "assistant" || typeof id !== "string") return null;
	const reported = Object(usage) as JsonRecord;
	return {
		key: id,
		isTotal: false,
		costUsd: null,
		input: numberOf(reported["input_tokens"]),
		output: numberOf(reported["output_tokens"]),
		cacheRead: numberOf(reported["cache_read_input_tokens"]),
		cacheWrite: numberOf(reported["cache_creation_input_tokens"]),
	};
}
