/** The recorded output of each agent CLI, and how its adapter parses it. */

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { CallAdapter } from "../../src/ports/executor.js";
import { headlessFor } from "../../src/sessions/headless.js";
import { attempt, NEVER, openExecutor, program, request } from "../executor/world.js";
import { temporaryFolder } from "../support/reeve.js";

const STREAMS = resolve("test/fixtures/streams");
const CLIS = ["claude", "codex", "gemini", "opencode", "pi"] as const;
/** Before every reset that was recorded. */
const AT_MS = Date.UTC(2026, 10, 16);

function adapterOf(cli: string): CallAdapter {
	const adapter = headlessFor({ adapter: cli });
	if (adapter === null) throw new Error(`${cli} cannot be called`);
	return adapter;
}

interface Said {
	readonly code?: number;
	readonly error?: string;
	readonly unusable?: string;
	readonly limited?: string;
	readonly resetInMs?: number | null;
	readonly result?: { text: string; conversation: string; usage: { input_tokens: number } };
	readonly retry_after_ms?: number;
}

function said(cli: string, name: string): Said {
	const path = join(STREAMS, cli, name);
	const { code, signal, stderr } = JSON.parse(readFileSync(`${path}.exit.json`, "utf8"));
	const stdout = readFileSync(`${path}.jsonl`, "utf8");
	const ended = { code, signal, stderr, stdout, atMs: AT_MS, zone: null };
	return adapterOf(cli).parse(request(), ended) as Said;
}

/** The outcome as one word. */
function trouble(cli: string, name: string): string {
	const { error, unusable, limited, result } = said(cli, name);
	return result === undefined
		? ((error ?? unusable ?? limited)?.split(":")[0] ?? "nothing")
		: "answered";
}

describe.each(CLIS)("%s without a terminal", (cli) => {
	test.each(["ok", "resumed", "tool"])("answers (%s)", (name) => {
		expect(said(cli, name)).toMatchObject({
			...{ status: "success", code: 0 },
			result: {
				text: expect.stringContaining("The mock "),
				conversation: expect.stringMatching(/^[\w-]{20,}$/),
				usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
			},
		});
		expect(said(cli, name).result?.usage.input_tokens).toBeGreaterThan(100);
	});

	test("stays in its conversation", () => {
		expect(said(cli, "resumed").result?.conversation).toBe(said(cli, "ok").result?.conversation);
	});

	test.each([
		["401", "auth"],
		["429", "rate_limit"],
		["529", "overloaded"],
		["dropped", "connection"],
		["unknown-conversation", "conversation_gone"],
	])("%s is %s", (name, expected) => {
		expect(trouble(cli, name)).toBe(expected);
	});
});

describe("failures that a CLI does not distinguish", () => {
	test.each([
		["claude", "failure"],
		// It reports high demand for every 500.
		["codex", "overloaded"],
		["gemini", "failure"],
		["opencode", "failure"],
		["pi", "failure"],
	])("%s: 500 is %s", (cli, expected) => {
		expect(trouble(cli, "500")).toBe(expected);
	});

	test.each([
		// With an API key, a limit is a 429 that only the API's own text identifies; a plan has its own
		// event.
		["claude", "usage_limit"],
		["codex", "usage_limit"],
		["gemini", "usage_limit"],
		["opencode", "usage_limit"],
		["pi", "usage_limit"],
	])("%s: a usage limit is %s", (cli, expected) => {
		expect(trouble(cli, "limit")).toBe(expected);
	});

	test.each([
		// The CLI itself retries the request.
		["claude", "answered"],
		["codex", "refusal"],
		// Nothing in its stream shows that the model stopped.
		["gemini", "answered"],
		["opencode", "refusal"],
		// "An unknown error occurred".
		["pi", "failure"],
	])("%s: a refusal is %s", (cli, expected) => {
		expect(trouble(cli, "refusal")).toBe(expected);
	});
});

describe("how long to wait", () => {
	test.each([
		["gemini", "429", 2_000],
		["opencode", "429", 2_000],
	])("%s reports it with %s", (cli, name, expected) => {
		expect(said(cli, name).retry_after_ms).toBe(expected);
	});

	test("codex reports the date of the reset as text", () => {
		const resetMs = new Date(2099, 0, 1, 15).getTime();
		expect(said("codex", "limit").resetInMs).toBe(resetMs - AT_MS);
	});

	/** A failed call of each CLI, with this text and this status of the service. */
	const FAILED: Readonly<Record<string, (text: string, status: number) => object>> = {
		claude: (text, status) => ({
			...{ type: "result", subtype: "success", is_error: true, session_id: "s" },
			...{ result: `API Error: ${text}`, api_error_status: status },
		}),
		codex: (text, status) => ({
			type: "turn.failed",
			error: { message: `unexpected status ${status} Too Many Requests: ${text}` },
		}),
		gemini: (text, status) => ({
			...{ type: "result", status: "error" },
			error: { message: `[API Error: {"error":{"code":${status},"message":"${text}"}}]` },
		}),
		opencode: (text, status) => ({
			type: "error",
			error: { name: "APIError", data: { message: text, statusCode: status } },
		}),
		pi: (text, status) => ({
			type: "message_end",
			message: { role: "assistant", stopReason: "error", errorMessage: `${status} ${text}` },
		}),
	};

	const callThatFailed = (cli: string, lines: readonly object[], zone: string | null = null) => {
		const all = [...lines, { type: "agent_end" }].map((line) => JSON.stringify(line));
		const ended = { code: 1, signal: null, stderr: "", stdout: all.join("\n"), atMs: AT_MS, zone };
		return adapterOf(cli).parse(request(), ended);
	};

	test.each(
		CLIS.flatMap((cli) =>
			(
				[
					["Usage limit reached, resets in 2h 5m", 125],
					["You have reached your usage limit. Try again in 3 days 4 hours 5 minutes.", 4_565],
					["Your weekly limit is exhausted · resets Nov 20, 3am (America/New_York)", 6_240],
					["Rate limit exceeded, please retry after 10 minutes", 10],
					["Session limit reached: it is lifted at 15:00 UTC", 900],
				] as const
			).map(([text, minutes]) => [cli, text, minutes] as const),
		),
	)("%s, limited by the account, waits until the end in %j", (cli, text, minutes) => {
		expect(callThatFailed(cli, [FAILED[cli]?.(text, 429) ?? {}])).toMatchObject({
			limited: expect.stringContaining(text),
			resetInMs: minutes * 60_000,
		});
	});

	test.each(CLIS)("%s, limited for seconds, is only retried after them", (cli) => {
		const text = "Rate limit reached for requests. Please try again in 20s.";
		const reported = callThatFailed(cli, [FAILED[cli]?.(text, 429) ?? {}]);
		expect(reported).toMatchObject({ code: 503, retry_after_ms: 20_000 });
	});

	test("a time without a zone is in that of the call's environment", () => {
		const message = "You've hit your usage limit. Try again at 3:00 PM.";
		const line = { type: "turn.failed", error: { message } };
		expect(callThatFailed("codex", [line], "Asia/Tokyo")).toMatchObject({
			resetInMs: 6 * 3_600_000,
		});
		expect(callThatFailed("codex", [line], "America/New_York")).toMatchObject({
			resetInMs: 20 * 3_600_000,
		});
	});

	test.each([
		["45", 45_000],
		["Mon, 16 Nov 2026 00:00:45 GMT", 45_000],
	])("opencode passes the header retry-after on: %s", (retryAfter, waitMs) => {
		const data = {
			...{ message: "slow down", statusCode: 429 },
			responseHeaders: { date: "Mon, 16 Nov 2026 00:00:00 GMT", "retry-after": retryAfter },
		};
		const line = { type: "error", error: { name: "APIError", data } };
		expect(callThatFailed("opencode", [line])).toMatchObject({ retry_after_ms: waitMs });
	});

	test("claude reports the end of a plan's window in its own event", () => {
		const limit = {
			...{ type: "rate_limit_event" },
			rate_limit_info: { status: "rejected", resetsAt: AT_MS / 1000 + 90 },
		};
		const result = {
			type: "result",
			subtype: "success",
			is_error: true,
			result: "no",
			session_id: "s",
		};
		const stdout = `${JSON.stringify(limit)}\n${JSON.stringify(result)}\n`;
		const ended = { code: 1, signal: null, stderr: "", stdout, atMs: AT_MS, zone: null };
		expect(adapterOf("claude").parse(request(), ended)).toMatchObject({ resetInMs: 90_000 });
	});
});

describe.each(CLIS)("the command line of %s", (cli) => {
	const argv = ["cli", "--model", "m"] as const;
	const prepare = (payload: unknown) =>
		adapterOf(cli).prepare(
			{ ...program("x"), argv: [...argv], env: { KEPT: "1" } },
			request({ action: "ask", payload }),
		);

	test("has the prompt on stdin, where neither its length nor a dash matters", () => {
		const prepared = prepare({ prompt: "--help" });
		expect(prepared).toMatchObject({ stdin: "--help", env: { KEPT: "1" } });
		expect("argv" in prepared && prepared.argv).not.toContain("--help");
		expect("argv" in prepared && prepared.argv).toEqual(expect.arrayContaining([...argv]));
	});

	test("returns the conversation to continue", () => {
		const prepared = prepare({ prompt: "more", conversation: "c-1" });
		expect("argv" in prepared && prepared.argv).toContain("c-1");
		expect(prepare({})).toMatchObject({ code: 400 });
	});
});

test("gemini is called in an untrusted directory", () => {
	const asked = request({ action: "ask", payload: { prompt: "hi" } });
	const prepared = adapterOf("gemini").prepare(program("x"), asked);
	expect("argv" in prepared && prepared.argv).toContain("--skip-trust");
});

test("codex without the variable that holds its key is unusable, and not tried again", () => {
	const stderr = "Missing environment variable: `MOCK_KEY`.";
	const ended = { code: 1, signal: null, stderr, stdout: "", atMs: AT_MS, zone: null };
	expect(adapterOf("codex").parse(request(), ended)).toMatchObject({
		unusable: expect.stringContaining("Missing environment variable"),
	});
});

test.each(CLIS)("the failure text of %s contains no colours", (cli) => {
	const stderr = "\u001b]0;title\u0007\u001b[1;31mit is broken\u001b[0m\u001b[K\n";
	const ended = { code: 1, signal: null, stderr, stdout: "", atMs: AT_MS, zone: null };
	expect(adapterOf(cli).parse(request(), ended)).toMatchObject({ error: "failure: it is broken" });
});

test("every recorded stream is tested", () => {
	const names = new Set(
		CLIS.flatMap((cli) => readdirSync(join(STREAMS, cli))).map((file) => file.split(".")[0]),
	);
	expect([...names].sort()).toEqual(
		["401", "429", "500", "529", "dropped", "limit", "ok", "refusal", "resumed"].concat(
			...["subagent", "tool", "unknown-conversation"],
		),
	);
});

describe("a call of an agent CLI as a real process", () => {
	const fake = resolve("dist/testing/fake-agent/fake-agent-main.js");
	const call = (script: object, payload: unknown = { prompt: "hello" }) => {
		const env = { PATH: process.env["PATH"] ?? "", HOME: temporaryFolder() };
		const argv = [process.execPath, fake, "--script", JSON.stringify(script)] as const;
		const of = program("x", [], { argv: [...argv], env });
		const asked = request({ action: "ask", payload });
		return openExecutor().call(
			attempt(of, { adapter: adapterOf("claude"), request: asked }),
			NEVER,
		);
	};

	test("answers", async () => {
		const usage = { input: 12, output: 3 };
		const { outcome } = await call({ turns: [{ reply: "good morning", usage }] });
		expect(outcome).toMatchObject({
			ok: true,
			result: { text: "good morning", usage: { input_tokens: 12, output_tokens: 3 } },
		});
	});

	test("that hits a usage limit waits until it ends", async () => {
		const { outcome } = await call({ turns: [{ limit: { resets_in: "2h" } }] });
		if (outcome === null || outcome.ok) throw new Error("no limit");
		expect(outcome.error).toBe("usage_limit");
		expect(outcome.retryAfterMs).toBeGreaterThan(3_600_000);
	});

	test("of one that is not logged in is not tried again", async () => {
		const { outcome } = await call({ turns: [{ fails: { status: 401, message: "bad key" } }] });
		expect(outcome).toMatchObject({ ok: false, error: "unusable" });
	});
});
