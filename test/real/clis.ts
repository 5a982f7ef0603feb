/**
 * The real CLIs under test: their packages, and the files that a fresh HOME needs so that each one uses
 * the mock API without questions. This is independent of `src/adapters`, so that both were determined independently.
 */

import type { Package } from "./install.js";

/** The environment in which one CLI is tested. */
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
	/** Patterns of its screen when it waits for a prompt, and when it works. */
	readonly ready: RegExp;
	readonly busy: RegExp;
	/** How it asks before it runs a tool: arguments of the terminal program, changed seeds, what it shows. */
	readonly asking: {
		readonly terminal: readonly string[];
		readonly seeds: RealCli["seeds"];
		readonly shows: RegExp;
		/** The input of the tool call, so that it needs a permission. */
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

export const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
export const KEY = "mock-key-0123456789-0123456789";

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

/** Settings of the laboratory that make a CLI fail at the first error. */
const NO_RETRIES = [
	/request_max_retries = 0\n/,
	/stream_max_retries = 0\n/,
	/,?\s*"maxAttempts":\s*1/,
	/,\s*"retry":\s*\{[^{}]*\{[^{}]*\}\s*\}/,
];

/** The CLI with its own retries, as users have it. */
export function withOwnRetries<T extends RealCli>(cli: T): T {
	const retried = (text: string) => NO_RETRIES.reduce((rest, each) => rest.replace(each, ""), text);
	return {
		...cli,
		env: (place) => {
			const { CLAUDE_CODE_MAX_RETRIES: _, ...env } = cli.env(place);
			return env;
		},
		seeds: (place) =>
			Object.fromEntries(
				Object.entries(cli.seeds(place)).map(([file, text]) => [file, retried(text)]),
			),
	};
}

export const CLIS: readonly RealCli[] = [claude, codex, gemini, opencode, pi];
