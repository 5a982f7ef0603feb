/**
 * Facts about the built-in adapters that the validation and hints of a fleet file need. Config does not import the
 * adapters themselves; `test/adapters/usage.test.ts` checks the reports of usage against them.
 */

import type { AgentKind } from "../core/states.js";

/** Adapters whose CLI reports its token usage. */
const REPORTS_TOKENS: ReadonlySet<string> = new Set([
	"claude",
	"codex",
	"gemini",
	"opencode",
	"pi",
]);
/** Adapters whose CLI reports its cost early enough to act on it. */
const REPORTS_COST: Readonly<Record<AgentKind, ReadonlySet<string>>> = {
	// Sessions of claude report it only when they exit.
	session: new Set(["opencode", "pi"]),
	call: new Set(["claude", "opencode", "pi"]),
	worker: new Set(),
};

export const reportsTokens = (adapter: string): boolean => REPORTS_TOKENS.has(adapter);
export const reportsCost = (kind: AgentKind, adapter: string): boolean =>
	REPORTS_COST[kind].has(adapter);

const PROXIES = [
	...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"],
	...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
];

/** Variables that agent CLIs commonly read from a user's shell, by adapter. */
export const USUAL_PASS_ENV: Readonly<Record<string, readonly string[]>> = {
	claude: [
		...["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"],
		...["CLAUDE_CODE_OAUTH_TOKEN", ...PROXIES],
	],
	codex: ["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME", ...PROXIES],
	gemini: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", ...PROXIES],
	opencode: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", ...PROXIES],
	pi: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", ...PROXIES],
	aider: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", ...PROXIES],
};
