/**
 * Real records of failed turns. The model API responded to the prompt `now 401` with a 401, and so on.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SignMeaning } from "../../src/core/sign.js";
import type { JsonRecord } from "../../src/ports/adapter.js";
import { adapterOf } from "../../src/sessions/adapters.js";
import { parseResetTime } from "../../src/sessions/reset-time.js";
import { splitRecords } from "../../src/sessions/session-logs.js";

const read = { resetAtMs: (text: string) => parseResetTime(text, Date.UTC(2026, 10, 16), () => 0) };

/** The meaning of each line, by the last submitted prompt. */
function meaningsOf(name: string, prompt: string): readonly SignMeaning[] {
	const { readTranscript } = adapterOf({ adapter: name, profile: null });
	const path = join(import.meta.dirname, `../fixtures/records/${name}-failures.jsonl`);
	let last = "";
	return readFileSync(path, "utf8")
		.trim()
		.split("\n")
		.flatMap((line) => readTranscript?.(JSON.parse(line) as JsonRecord, read) ?? [])
		.filter((meaning) => {
			last = meaning.prompt || last;
			return last === prompt;
		});
}

const failureIn = (meanings: readonly SignMeaning[]) =>
	meanings.findLast(({ failure }) => failure !== undefined)?.failure;

describe("codex", () => {
	test.each([
		["401", "auth"],
		["429", "usage_limit"],
		["limit", "usage_limit"],
		["529", "overloaded"],
		["500", "overloaded"],
		["dropped", "overloaded"],
	])("reports a turn that failed with %s as %s", (failure, cause) => {
		expect(failureIn(meaningsOf("codex", `now ${failure}`))?.cause).toBe(cause);
	});

	test("reports when a limit ends, and that a turn succeeded", () => {
		const resetAtMs = Date.UTC(2099, 0, 1);
		expect(failureIn(meaningsOf("codex", "now limit"))).toEqual({
			...{ cause: "usage_limit", resetAtMs },
		});
		expect(failureIn(meaningsOf("codex", "now ok"))).toBeNull();
	});

	test("reports the cause that it names, also by a name that only services use", () => {
		const { readTranscript } = adapterOf({ adapter: "codex", profile: null });
		const causeOf = (info: string) => {
			const error = { message: "no", codex_error_info: info };
			const payload = { type: "task_complete", error };
			return readTranscript?.({ type: "event_msg", payload }, read)?.failure?.cause;
		};
		expect(["model_not_found", "server_overloaded", "other"].map(causeOf)).toEqual([
			...["config", "overloaded", "unknown"],
		]);
	});

	test("reports a running tool until it has finished", () => {
		const tools = meaningsOf("codex", "now tool").flatMap(({ inTool }) => inTool ?? []);
		expect(tools).toEqual([true, false, false]);
	});
});

describe("gemini", () => {
	test.each([
		["401", "auth"],
		["dropped", "overloaded"],
	])("reports a turn that failed with %s as %s", (failure, cause) => {
		expect(failureIn(meaningsOf("gemini", `now ${failure}`))?.cause).toBe(cause);
	});

	test.each(["429", "500"])("reports nothing about %s, which it retries for minutes", (failure) => {
		expect(failureIn(meaningsOf("gemini", `now ${failure}`))).toBeUndefined();
	});
});

describe("gemini's telemetry", () => {
	const { readLog } = adapterOf({ adapter: "gemini", profile: null });
	const path = join(import.meta.dirname, "../fixtures/records/gemini-telemetry.txt");
	const meanings = splitRecords(readFileSync(path, "utf8")).records.flatMap(
		(record) => readLog?.(record, read) ?? [],
	);

	test("has the requests that failed, with their causes and the text of the service", () => {
		expect(
			meanings.flatMap(({ attempt, detail }) => (attempt ? [[attempt.cause, detail]] : [])),
		).toEqual([
			["usage_limit", "429 Resource has been exhausted (e.g. check quota)."],
			["usage_limit", "429 Resource has been exhausted (e.g. check quota)."],
			["usage_limit", "429 You exceeded your current quota, please check your plan."],
			["config", expect.stringMatching(/^404 models\/mock-1 is not found/)],
		]);
	});

	test("contains the successful requests, without auxiliary ones, and the time of each", () => {
		const well = meanings.filter(({ attempt }) => attempt === null);
		expect(well).toEqual([{ attempt: null, atMs: expect.any(Number) }]);
		expect(new Date(well[0]?.atMs ?? 0).getUTCFullYear()).toBe(2026);
	});

	test("has an answer that the service stopped by its content filter", () => {
		const attributes = {
			...{ "event.name": "gemini_cli.api_response", role: "main", status_code: 200 },
			...{ "event.timestamp": "2026-11-18T04:14:28.247Z" },
			finish_reasons: ["stop", "content_filter"],
		};
		const meaning = readLog?.({ attributes }, read);
		expect(meaning?.failure?.cause).toBe("refused");
		// After the response in the transcript, which treats it as a successful turn.
		expect(meaning?.atMs).toBeGreaterThan(Date.UTC(2026, 10, 18, 4, 14, 28, 249));
	});
});

test("claude's record has the exact end of a limit, which its message cuts to the minute", () => {
	const { readTranscript } = adapterOf({ adapter: "claude", profile: null });
	const line = {
		type: "assistant",
		message: { content: [{ type: "text", text: "You've hit your 5-hour limit · resets 12:55am" }] },
		...{ error: "rate_limit", isApiErrorMessage: true, apiErrorStatus: 429 },
		quotaLimits: { status: "rejected", resetsAt: 1_794_963_314, rateLimitType: "five_hour" },
	};
	expect(readTranscript?.(line, read)?.failure).toEqual({
		...{ cause: "usage_limit", resetAtMs: 1_794_963_314_000 },
	});
});

test("claude's record confirms prompts, and treats no other line of a user as one", () => {
	const { readTranscript } = adapterOf({ adapter: "claude", profile: null });
	const lines = readFileSync("test/fixtures/records/claude.jsonl", "utf8").trim().split("\n");
	const meanings = lines.map((line) => readTranscript?.(JSON.parse(line) as JsonRecord, read));
	expect(meanings.flatMap((meaning) => meaning?.prompt ?? [])).toEqual(["use tool"]);
	const user = { type: "user", message: { role: "user", content: "of a subagent" } };
	expect(readTranscript?.({ ...user, isSidechain: true }, read)).toBeNull();
	expect(readTranscript?.({ ...user, isMeta: true }, read)).toBeNull();
});
