/**
 * The real CLIs under test: where they come from, and what a fresh HOME must hold so that each one speaks
 * to the mock API without asking anybody. This is the laboratory's own knowledge, apart from that of
 * `src/adapters`: what both say was found twice.
 */

import type { Package } from "./install.js";

/** The place that one CLI is tried in. */
export interface Place {
	readonly api: string;
	readonly home: string;
	readonly cwd: string;
}

export interface RealCli extends Package {
	readonly cli: string;
	readonly env: (place: Place) => Record<string, string>;
	/** Files below HOME. */
	readonly seeds: (place: Place) => Record<string, string>;
	/** A prompt without a terminal, answered in JSON. */
	readonly headless: (prompt: string) => readonly string[];
	readonly resume: (id: string, prompt: string) => readonly string[];
	/** The terminal program, without a prompt. */
	readonly terminal: readonly string[];
	/** What stands on its screen when it waits for a prompt, and when it works. */
	readonly ready: RegExp;
	readonly busy: RegExp;
	/** How it asks before it runs a tool: arguments of the terminal program, changed seeds, what it shows. */
	readonly asking: {
		readonly terminal: readonly string[];
		readonly seeds: RealCli["seeds"];
		readonly shows: RegExp;
		/** What the call of the tool must say, so that it is asked about. */
		readonly input?: Record<string, unknown>;
	} | null;
	/** Start-up dialogs of a HOME without (all of) the seeds. */
	readonly dialogs: readonly {
		readonly name: string;
		readonly terminal: readonly string[];
		readonly seeds: RealCli["seeds"];
		readonly shows: RegExp;
	}[];
	/** The keys that interrupt a turn. */
	readonly interrupt: readonly string[];
	/** A tool that runs a shell command. */
	readonly shell: (command: string) => { name: string; input: Record<string, unknown> };
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const KEY = "mock-key-0123456789-0123456789";

const without = (seeds: Record<string, string>, file: string, edit: (text: string) => string) => ({
	...seeds,
	[file]: edit(seeds[file] ?? ""),
});

const claude: RealCli = {
	cli: "claude",
	name: "@anthropic-ai/claude-code",
	version: "2.1.325",
	bin: "claude",
	env: ({ api }) => ({
		ANTHROPIC_BASE_URL: api,
		ANTHROPIC_API_KEY: KEY,
		CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
		DISABLE_AUTOUPDATER: "1",
		IS_SANDBOX: "1",
		CLAUDE_CODE_MAX_RETRIES: "0",
	}),
	seeds: ({ cwd }) => ({
		".claude.json": json({
			hasCompletedOnboarding: true,
			theme: "dark",
			bypassPermissionsModeAccepted: true,
			customApiKeyResponses: { approved: [KEY.slice(-20)] },
			projects: { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
		}),
	}),
	headless: (prompt) => ["-p", prompt, "--output-format", "stream-json", "--verbose"],
	resume: (id, prompt) => [
		...["-p", prompt, "--resume", id],
		...["--output-format", "stream-json", "--verbose"],
	],
	terminal: ["--dangerously-skip-permissions"],
	ready: /^❯/m,
	busy: /esc to interrupt/,
	asking: {
		terminal: ["--permission-mode", "default"],
		seeds: (place) => claude.seeds(place),
		shows: /Do you want to proceed/,
	},
	dialogs: [
		{
			name: "trust",
			terminal: [],
			seeds: (place) =>
				without(claude.seeds(place), ".claude.json", (text) =>
					text.replace('"hasTrustDialogAccepted": true', '"hasTrustDialogAccepted": false'),
				),
			shows: /trust/i,
		},
		{
			name: "bypass-permissions",
			terminal: ["--dangerously-skip-permissions"],
			seeds: (place) =>
				without(claude.seeds(place), ".claude.json", (text) =>
					text.replace('"bypassPermissionsModeAccepted": true,', ""),
				),
			shows: /Yes, I accept/,
		},
		{
			name: "api-key",
			terminal: [],
			seeds: (place) =>
				without(claude.seeds(place), ".claude.json", (text) => text.replace(KEY.slice(-20), "x")),
			shows: /API key/,
		},
	],
	interrupt: ["Escape"],
	shell: (command) => ({ name: "Bash", input: { command, description: "runs it" } }),
};

const codex: RealCli = {
	cli: "codex",
	name: "@openai/codex",
	version: "0.166.0",
	bin: "codex",
	env: ({ home }) => ({ MOCK_KEY: KEY, CODEX_HOME: `${home}/.codex` }),
	seeds: ({ api, cwd }) => ({
		".codex/config.toml": `model = "mock"
model_provider = "mock"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.mock]
name = "mock"
base_url = "${api}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[features]
daemon_auto_start = false
[projects."${cwd}"]
trust_level = "trusted"
`,
	}),
	headless: (prompt) => ["exec", "--json", "--skip-git-repo-check", prompt],
	resume: (id, prompt) => ["exec", "resume", "--json", "--skip-git-repo-check", id, prompt],
	terminal: [],
	ready: /Ask Codex to do anything/,
	busy: /esc to interrupt/,
	asking: {
		terminal: ["-a", "on-request", "-s", "read-only"],
		seeds: (place) => codex.seeds(place),
		shows: /Would you like to run|Allow command|Yes, proceed/,
		input: { sandbox_permissions: "require_escalated", justification: "to try it" },
	},
	dialogs: [
		{
			name: "sign-in",
			terminal: [],
			seeds: () => ({ ".codex/config.toml": "check_for_update_on_startup = false\n" }),
			shows: /Sign in/i,
		},
	],
	interrupt: ["Escape"],
	shell: (command) => ({ name: "exec_command", input: { cmd: command, yield_time_ms: 60_000 } }),
};

const gemini: RealCli = {
	cli: "gemini",
	name: "@google/gemini-cli",
	version: "0.61.0",
	bin: "gemini",
	env: ({ api }) => ({
		GEMINI_API_KEY: KEY,
		GOOGLE_GEMINI_BASE_URL: api,
		GEMINI_CLI_NO_RELAUNCH: "true",
	}),
	seeds: () => ({
		".gemini/settings.json": json({
			security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
			general: { enableAutoUpdate: false, maxAttempts: 1 },
			privacy: { usageStatisticsEnabled: false },
		}),
	}),
	headless: (prompt) => ["-p", prompt, "-o", "stream-json", "--approval-mode", "yolo"],
	resume: (id, prompt) => [
		...["--resume", id, "-p", prompt],
		...["-o", "stream-json", "--approval-mode", "yolo"],
	],
	terminal: ["--approval-mode", "yolo"],
	ready: /Type your message/,
	busy: /esc to cancel/,
	asking: {
		terminal: [],
		seeds: (place) => gemini.seeds(place),
		shows: /Allow (execution|once)/,
	},
	dialogs: [
		{
			name: "trust",
			terminal: [],
			seeds: (place) =>
				without(gemini.seeds(place), ".gemini/settings.json", (text) =>
					text.replace('"enabled": false', '"enabled": true'),
				),
			shows: /trust/i,
		},
		{
			name: "sign-in",
			terminal: [],
			seeds: () => ({
				".gemini/settings.json": json({ security: { folderTrust: { enabled: false } } }),
			}),
			shows: /authenticate|Login|Sign in/i,
		},
	],
	interrupt: ["Escape"],
	shell: (command) => ({ name: "run_shell_command", input: { command } }),
};

const opencode: RealCli = {
	cli: "opencode",
	name: "opencode-ai",
	version: "1.18.33",
	bin: "opencode",
	env: () => ({
		OPENCODE_DISABLE_AUTOUPDATE: "1",
		OPENCODE_DISABLE_MODELS_FETCH: "1",
		OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
	}),
	seeds: ({ api }) => ({
		".config/opencode/opencode.json": json({
			autoupdate: false,
			share: "disabled",
			model: "mock/mock-1",
			small_model: "mock/mock-1",
			enabled_providers: ["mock"],
			permission: "allow",
			provider: {
				mock: {
					npm: "@ai-sdk/openai-compatible",
					options: { baseURL: `${api}/v1`, apiKey: KEY },
					models: {
						"mock-1": {
							name: "Mock 1",
							tool_call: true,
							limit: { context: 200_000, output: 8_192 },
						},
					},
				},
			},
		}),
	}),
	headless: (prompt) => ["run", "--format", "json", prompt],
	resume: (id, prompt) => ["run", "--format", "json", "-s", id, prompt],
	terminal: [],
	ready: /Ask anything|ctrl\+p commands/,
	busy: /esc (again to )?interrupt/,
	asking: {
		terminal: [],
		seeds: (place) =>
			without(opencode.seeds(place), ".config/opencode/opencode.json", (text) =>
				text.replace('"permission": "allow"', '"permission": { "bash": "ask" }'),
			),
		shows: /Permission required|Allow once/,
	},
	dialogs: [],
	interrupt: ["Escape", "Escape"],
	shell: (command) => ({ name: "bash", input: { command, description: "runs it" } }),
};

const pi: RealCli = {
	cli: "pi",
	name: "@mariozechner/pi-coding-agent",
	version: "0.73.1",
	bin: "pi",
	env: () => ({ PI_OFFLINE: "1" }),
	seeds: ({ api }) => ({
		".pi/agent/models.json": json({
			providers: {
				mock: {
					baseUrl: api,
					api: "anthropic-messages",
					apiKey: KEY,
					models: [{ id: "mock-1", name: "Mock 1", contextWindow: 200_000, maxTokens: 8_192 }],
				},
			},
		}),
		".pi/agent/settings.json": json({
			defaultProvider: "mock",
			defaultModel: "mock-1",
			quietStartup: true,
			retry: { enabled: false, provider: { maxRetries: 0 } },
		}),
	}),
	headless: (prompt) => ["--mode", "json", "-p", prompt],
	resume: (id, prompt) => ["--mode", "json", "--session", id, "-p", prompt],
	terminal: [],
	ready: /\(auto\)/,
	busy: /Working\.\.\./,
	asking: null,
	dialogs: [],
	interrupt: ["Escape"],
	shell: (command) => ({ name: "bash", input: { command } }),
};

const isType = (type: string) => ({ path: "type", match: `^${type.replace(".", "\\.")}$` });

const QWEN_HOOKS = Object.fromEntries(
	[
		...["SessionStart each", "UserPromptSubmit each", "PermissionRequest each"],
		...["PreToolUse last", "PostToolUse last", "PostToolUseFailure last"],
		...["Stop each", "StopFailure each"],
	].map((words) => [
		words.split(" ")[0],
		[{ hooks: [{ type: "command", command: `sh "$REEVE_HOOK" ${words}`, timeout: 10_000 }] }],
	]),
);

/** One that Reeve has never heard of: all that it knows stands in the fleet file. */
export const QWEN: RealCli & { readonly adapter: object } = {
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
		},
		files: [{ name: "qwen-hooks.json", text: JSON.stringify({ hooks: QWEN_HOOKS }) }],
		events: [
			{ event: "SessionStart", activity: "ready" },
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
		// Attempts that fail before the last one are only written down.
		lines: [
			{
				where: { path: "systemPayload.uiEvent.error_message", match: "." },
				detail: "systemPayload.uiEvent.error_message",
			},
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

/** Another one. It keeps a record of all that it does, so it needs no hooks. */
export const COPILOT: RealCli & { readonly adapter: object } = {
	cli: "copilot",
	name: "@github/copilot",
	version: "1.0.102",
	bin: "copilot",
	adapter: {
		command: ["copilot"],
		env: { COPILOT_AUTO_UPDATE: "false" },
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
			{ where: isType("assistant.message"), turn: "ok" },
			{ where: isType("assistant.turn_end"), activity: "ready", in_tool: false },
			{
				...{ where: isType("session.error"), activity: "ready" },
				...{ turn: "failed", detail: "data.message" },
			},
		],
		screen: { ready: ["^❯"], busy: ["Working .*esc"] },
		seeds: [
			{ file: ["<home>/.copilot/config.json"], path: ["trusted_folders"], value: '["<cwd>"]' },
		],
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

export const CLIS: readonly RealCli[] = [claude, codex, gemini, opencode, pi];
