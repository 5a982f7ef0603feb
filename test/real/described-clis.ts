/** Real CLIs without a built-in adapter: the fleet file describes them. */

import { json, KEY, type RealCli } from "./clis.js";

export interface DescribedCli extends RealCli {
	/** The entry under `adapters` in the fleet file. */
	readonly adapter: object;
}

const isType = (type: string) => ({ path: "type", match: `^${type.replace(".", "\\.")}$` });

const QWEN_HOOKS = Object.fromEntries(
	[
		...["UserPromptSubmit each", "PermissionRequest each"],
		...["PreToolUse last", "PostToolUse last", "PostToolUseFailure last"],
		...["Stop each", "StopFailure each"],
	].map((words) => [
		words.split(" ")[0],
		[{ hooks: [{ type: "command", command: `sh "$REEVE_HOOK" ${words}`, timeout: 10_000 }] }],
	]),
);

/** By its hooks, which it takes from a file of Reeve's, and by its record. */
export const QWEN: DescribedCli = {
	cli: "qwen",
	name: "@qwen-code/qwen-code",
	version: "0.24.4",
	bin: "qwen",
	adapter: {
		command: ["qwen"],
		env: {
			QWEN_CODE_NO_RELAUNCH: "true",
			// The lowest of its settings: the user's own come on top.
			QWEN_CODE_SYSTEM_DEFAULTS_PATH: "<folder>/qwen-hooks.json",
			// Why an answer ended is in its telemetry alone.
			...{ QWEN_TELEMETRY_ENABLED: "true", QWEN_TELEMETRY_TARGET: "local" },
			...{ QWEN_TELEMETRY_OUTFILE: "<folder>/qwen-telemetry.json" },
			QWEN_TELEMETRY_LOG_PROMPTS: "false",
		},
		log: {
			files: ["<folder>/qwen-telemetry.json"],
			lines: [
				// Requests of its helpers (memories, suggestions) are none of the turn's, and are written after it.
				{ where: { path: "attributes.llm_request.context", match: "^standalone$" } },
				{ where: { path: "attributes.subagent_name", match: "." } },
				{
					where: { path: "attributes.finish_reason", match: "(?i)safety|content_filter" },
					...{ turn: "failed", cause: "refused", detail: "attributes.finish_reason" },
				},
			],
		},
		files: [{ name: "qwen-hooks.json", text: JSON.stringify({ hooks: QWEN_HOOKS }) }],
		events: [
			// Not from SessionStart: that comes before its input is there, and what is typed then is lost.
			{ event: "UserPromptSubmit", activity: "busy", prompt: "submitted_prompt" },
			{ event: "PreToolUse", activity: "busy", in_tool: true },
			{ event: "PostToolUse", activity: "busy", in_tool: false },
			{ event: "PostToolUseFailure", activity: "busy", in_tool: false },
			{ event: "PermissionRequest", activity: "waiting_input" },
			{ event: "Stop", activity: "ready", in_tool: false, turn: "ok" },
			{
				...{ event: "StopFailure", activity: "ready", in_tool: false },
				...{ turn: "failed", detail: "error_details" },
			},
		],
		lines: [
			// Requests of its helpers, which look for memories and the like, are none of the turn's.
			{ where: { path: "systemPayload.uiEvent.prompt_id", match: "#managed-" } },
			// Attempts that fail before the last one are only written down.
			{
				...{
					where: { path: "systemPayload.uiEvent.error_message", match: "." },
					request: "failed",
				},
				...{ status: "systemPayload.uiEvent.status_code" },
				detail: "systemPayload.uiEvent.error_message",
			},
			{ where: { path: "systemPayload.uiEvent.response_id", match: "." }, request: "ok" },
			// A prompt is in the conversation also if qwen is killed before it runs the hook.
			{ where: { path: "provenance", match: "^real_user$" }, prompt: "message.parts" },
		],
		screen: {
			ready: ["Type your message", "^\\s*\\w+ mode \\(shift \\+ tab to cycle\\)"],
			busy: ["esc to cancel"],
		},
		drain: ["turn", "esc", "sigterm"],
		conversation: {
			id: "chosen",
			fresh: ["--session-id", "<conversation>"],
			resume: ["--resume", "<conversation>"],
			gone: ["No saved session found"],
			transcript: ["<home>/.qwen/projects/*/chats/<conversation>.jsonl"],
		},
	},
	env: ({ api }) => ({
		OPENAI_API_KEY: KEY,
		OPENAI_BASE_URL: `${api}/v1`,
		OPENAI_MODEL: "mock-1",
	}),
	seeds: () => ({
		".qwen/settings.json": json({
			security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
			general: { enableAutoUpdate: false },
			privacy: { usageStatisticsEnabled: false },
		}),
	}),
	headless: (prompt) => ["-p", prompt, "-o", "json", "--approval-mode", "yolo"],
	resume: (id, prompt) => ["--resume", id, "-p", prompt, "-o", "json"],
	terminal: ["--approval-mode", "yolo"],
	ready: /Type your message/,
	busy: /esc to cancel/,
	asking: null,
	dialogs: [],
	interrupt: ["Escape"],
	shell: (command) => ({ name: "run_shell_command", input: { command, is_background: false } }),
};

const FAILED = { request: "failed", status: "http_status", detail: "text" };

/** By its record, which has all that it does, and its log, which has the requests that it retries. */
export const COPILOT: DescribedCli = {
	cli: "copilot",
	name: "@github/copilot",
	version: "1.0.102",
	bin: "copilot",
	adapter: {
		command: ["copilot"],
		args: ["--log-dir", "<folder>/copilot-log"],
		env: { COPILOT_AUTO_UPDATE: "false" },
		// Attempts that fail before the last one are in its log alone.
		log: {
			files: ["<folder>/copilot-log/*.log"],
			lines: [
				{ where: { path: "failure_kind", match: "^transport$" }, ...FAILED, cause: "overloaded" },
				{ where: { path: "text", match: "Model provider request failed" }, ...FAILED },
			],
		},
		conversation: {
			id: "chosen",
			fresh: ["--session-id", "<conversation>"],
			resume: ["--session-id", "<conversation>"],
			transcript: ["<home>/.copilot/session-state/<conversation>/events.jsonl"],
		},
		lines: [
			{ where: isType("user.message"), activity: "busy", prompt: "data.content" },
			{ where: isType("assistant.turn_start"), activity: "busy" },
			{ where: isType("tool.execution_start"), in_tool: true },
			{ where: isType("tool.execution_complete"), in_tool: false },
			// How a request ended; a refusal comes with a message like any other.
			{
				...{ where: { path: "data.usage.finishReason", match: "^content_filter$" } },
				...{ turn: "failed", cause: "refused", detail: "data.usage.finishReason" },
			},
			{
				where: { path: "data.usage.interactionType", match: "^conversation-agent$" },
				turn: "ok",
			},
			{ where: isType("assistant.turn_end"), activity: "ready", in_tool: false },
			{
				...{ where: isType("session.error"), activity: "ready" },
				...{ turn: "failed", detail: "data.message" },
			},
		],
		screen: { ready: ["^❯"], busy: ["Working .*esc"] },
		seeds: [{ file: ["<home>/.copilot/config.json"], path: ["trustedFolders"], add: '"<cwd>"' }],
		drain: ["turn", "esc", "esc", "sigterm"],
	},
	env: ({ api }) => ({
		COPILOT_PROVIDER_BASE_URL: `${api}/v1`,
		COPILOT_PROVIDER_TYPE: "openai",
		COPILOT_PROVIDER_API_KEY: KEY,
		COPILOT_MODEL: "mock-1",
		COPILOT_OFFLINE: "true",
	}),
	seeds: () => ({}),
	headless: (prompt) => ["-p", prompt],
	resume: (id, prompt) => ["--resume", id, "-p", prompt],
	terminal: ["--allow-all-tools"],
	ready: /^❯/m,
	busy: /Working .*esc/,
	asking: null,
	dialogs: [],
	interrupt: ["Escape", "Escape"],
	shell: (command) => ({ name: "bash", input: { command, description: "runs it" } }),
};
