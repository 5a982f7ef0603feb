/** Each CLI's own way to end, and how Reeve classifies it. The unusual ones were measured with the real CLIs. */

import { describe, expect, it } from "vitest";
import { type Asker, exitReport } from "../../src/core/exit.js";
import { explainExit } from "../../src/core/exit-cause.js";
import type { AgentSign } from "../../src/core/sign.js";
import { adapterOf } from "../../src/sessions/adapters.js";

const NOW = 1_000_000;
const reader = { resetAtMs: (text: string) => (text.includes("3pm") ? NOW + 5_000 : null) };
const named = (adapter: string) => adapterOf({ adapter, profile: null });

interface End {
	readonly code?: number;
	readonly signal?: string;
	readonly askedBy?: Asker;
	readonly words?: string;
	/** Records that its hooks left, or lines of its transcript. */
	readonly records?: readonly (readonly [event: string, data: object])[];
	readonly lines?: readonly object[];
	readonly agoMs?: number;
}

function explain(
	name: string,
	{ words = "", records = [], lines = [], agoMs = 10, ...facts }: End,
) {
	const adapter = named(name);
	const meanings = [
		...records.map(([event, data]) => adapter.readRecord?.(event, { ...data }, reader) ?? null),
		...lines.map((line) => adapter.readTranscript?.({ ...line }, reader) ?? null),
	];
	const signs = meanings.flatMap((meaning): AgentSign[] =>
		meaning === null ? [] : [{ ...meaning, source: "hook", name: "x", atMs: NOW - agoMs }],
	);
	const evidence = { signs, lastOutput: words, atMs: NOW, readReset: reader.resetAtMs };
	return explainExit(adapter.profile, exitReport({ uptimeMs: 60_000, ...facts }), evidence);
}

const apiError = (text: string) => ({
	type: "assistant",
	isApiErrorMessage: true,
	message: { content: [{ type: "text", text }] },
});

describe.each([
	[
		"claude",
		[
			["exits with 0", { code: 0 }, "completed"],
			// SIGINT gives 0 as well, SIGTERM 143: Reeve sent neither.
			["is terminated by a SIGTERM from outside", { code: 143 }, "crash"],
			["is killed", { signal: "SIGKILL" }, "crash"],
			[
				"is killed after a turn that failed, which it lived through",
				{
					...{ signal: "SIGKILL", words: "API Error: 401 invalid x-api-key" },
					records: [["StopFailure", { error: "authentication_failed" }]],
				},
				"crash",
			],
			["was asked to end", { code: 143, askedBy: "operator" }, "requested"],
			["loses its status", {}, "unknown"],
			[
				"cannot log in",
				{ code: 1, records: [["StopFailure", { error: "authentication_failed" }]] },
				"auth",
			],
			[
				"hits a limit",
				{ code: 1, records: [["StopFailure", { error: "rate_limit" }]] },
				"usage_limit",
			],
			[
				"meets an overload",
				{ code: 1, records: [["StopFailure", { error: "server_error" }]] },
				"overloaded",
			],
			[
				"continued after a failure",
				{
					code: 1,
					records: [
						["StopFailure", { error: "rate_limit" }],
						["Stop", {}],
					],
				},
				"crash",
			],
			[
				"failed long before it ended",
				{ code: 1, agoMs: 3_600_000, records: [["StopFailure", { error: "rate_limit" }]] },
				"crash",
			],
			[
				"wrote its limit down",
				{ code: 0, lines: [apiError("You've hit your session limit · resets 3pm")] },
				"usage_limit",
			],
			[
				"wrote an overload down",
				{ code: 1, lines: [apiError("API Error: 529 Overloaded.")] },
				"overloaded",
			],
			[
				"prints that it may not run as root",
				{
					code: 1,
					words: "--dangerously-skip-permissions cannot be used with root/sudo privileges",
				},
				"crash",
			],
			[
				"prints that it cannot reach its service",
				{ code: 1, words: "Unable to connect to Anthropic services ... ENOTFOUND" },
				"crash",
			],
			[
				"is terminated from outside while its screen talks of a login",
				{ code: 143, words: "The server answered 401 Unauthorized, so log in again" },
				"crash",
			],
			[
				"is terminated from outside after a turn that failed, which it lived through",
				{ code: 143, records: [["StopFailure", { error: "rate_limit" }]] },
				"crash",
			],
			[
				"crashes in a folder with an unlucky name",
				{ code: 1, words: "~/projects/401 · 429 rate limit · 503" },
				"crash",
			],
			[
				"was talking of limits and ended well",
				{ code: 0, words: "the usage limit of the API" },
				"completed",
			],
		],
	],
	[
		"codex",
		[
			["exits with 0", { code: 0 }, "completed"],
			["is ended by a signal", { signal: "SIGTERM" }, "crash"],
			[
				"hits a limit",
				{
					code: 1,
					lines: [
						{
							type: "event_msg",
							payload: {
								type: "task_complete",
								error: {
									message: "You’ve hit your usage limit. try again at 3pm",
									codex_error_info: "usage_limit_exceeded",
								},
							},
						},
					],
				},
				"usage_limit",
			],
			[
				"only prints that it cannot log in",
				{ code: 1, words: "unexpected status 401 Unauthorized: invalid x-api-key" },
				"crash",
			],
			[
				"only prints that its settings are wrong",
				{ code: 1, words: "Error loading config.toml: unknown variant" },
				"crash",
			],
		],
	],
	[
		"gemini",
		[
			// SIGTERM, SIGINT, SIGHUP and a lost terminal all exit with 0.
			["exits with 0", { code: 0 }, "completed"],
			["was asked to end, which looks like success", { code: 0, askedBy: "reeve" }, "requested"],
			["has no way to log in", { code: 41, words: "Invalid auth method selected." }, "auth"],
			["refuses its input", { code: 42 }, "config"],
			["refuses its settings", { code: 52 }, "config"],
			["is cancelled", { code: 130 }, "crash"],
			[
				"reports a cause with a number that looks like a signal",
				{ code: 173, words: "[API Error: You have exhausted your daily quota on this model.]" },
				"usage_limit",
			],
			[
				"says 401 with a number that looks like a signal",
				{ code: 145, words: '{"error":{"code":401,"status":"UNAUTHENTICATED"}}' },
				"auth",
			],
			[
				"says 529 with a small number",
				{ code: 17, words: '{"error":{"code":529,"message":"Overloaded"}}' },
				"overloaded",
			],
		],
	],
	[
		"opencode",
		[
			["exits with 0", { code: 0 }, "completed"],
			[
				"hits a limit",
				{
					code: 1,
					records: [
						["idle", { error: { data: { message: "usage limit reached", statusCode: 429 } } }],
					],
				},
				"usage_limit",
			],
			[
				"cannot log in",
				{
					code: 1,
					records: [
						["idle", { error: { data: { message: "invalid x-api-key", statusCode: 401 } } }],
					],
				},
				"auth",
			],
			[
				"only retried",
				{
					code: 1,
					records: [["status", { status: { type: "retry", message: "Overloaded" } }]],
				},
				"crash",
			],
			[
				"continued after a failure",
				{
					code: 0,
					records: [
						["idle", { error: { data: { statusCode: 429 } }, finished: false }],
						["idle", { error: null, finished: true }],
					],
				},
				"completed",
			],
		],
	],
	[
		"pi",
		[
			["exits with 0 and has said nothing", { code: 0 }, "completed"],
			[
				"exits with 0 and had failed",
				{
					code: 0,
					records: [
						["agent_end", { stopReason: "error", errorMessage: "401 authentication_error" }],
					],
				},
				"auth",
			],
			[
				"exits with 0 and prints that it failed",
				{ code: 0, words: 'Error: 529 {"type":"overloaded_error"}' },
				"completed",
			],
			[
				"was aborted by its user",
				{ code: 0, records: [["agent_end", { stopReason: "aborted" }]] },
				"completed",
			],
		],
	],
	["aider", [["is given a bad argument", { code: 2 }, "config"]]],
	[
		"generic",
		[
			["exits with 0", { code: 0 }, "unknown"],
			["exits with 1 and says anything", { code: 1, words: "usage limit reached" }, "unknown"],
		],
	],
] as const satisfies readonly (readonly [string, readonly (readonly [string, End, string])[]])[])(
	"%s",
	(name, ends) => {
		it.each(ends as readonly (readonly [string, End, string])[])("%s", (_, end, cause) => {
			expect(explain(name, end).cause).toBe(cause);
		});
	},
);

describe("a reported cause", () => {
	it("is when the limit lifts", () => {
		const end = { code: 173, words: "You've hit your limit · resets 3pm" };
		expect(explain("gemini", end)).toMatchObject({ cause: "usage_limit", resetInMs: 5_000 });
	});

	it("is the hint", () => {
		const words = "cannot be used with root/sudo privileges";
		expect(explain("claude", { code: 1, words }).detail).toContain("IS_SANDBOX");
	});

	it("does not replace the facts of the backend", () => {
		const report = exitReport({ uptimeMs: 1, code: 137, cause: "out_of_memory" });
		const evidence = { signs: [], lastOutput: "401", atMs: NOW, readReset: reader.resetAtMs };
		expect(explainExit(named("claude").profile, report, evidence).cause).toBe("out_of_memory");
	});
});
