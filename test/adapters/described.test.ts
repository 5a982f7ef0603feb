/** The meaning of real records by adapters of the fleet file, which were tested with the real CLIs. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { parseFleet } from "../../src/config/parse-fleet.js";
import type { AgentAdapter, JsonRecord } from "../../src/ports/adapter.js";
import { adapterOf } from "../../src/sessions/adapters.js";
import { splitRecords } from "../../src/sessions/session-logs.js";
import { COPILOT, type DescribedCli, QWEN } from "../real/described-clis.js";

const read = { resetAtMs: () => null };

function adapterFrom({ cli, adapter }: DescribedCli): AgentAdapter {
	const agents = { a: { adapter: cli } };
	const fleet = { version: 1, adapters: { [cli]: adapter }, projects: { p: { agents } } };
	const place = { env: {}, homeDir: "/", baseDir: "/" };
	const parsed = parseFleet(JSON.stringify(fleet), "reeve.yaml", place);
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	const { profile = null } = parsed.fleet.agents[0] ?? {};
	return adapterOf({ adapter: cli, profile });
}

function linesOf(file: string): readonly JsonRecord[] {
	const path = join(import.meta.dirname, "../fixtures/records", file);
	const lines = readFileSync(path, "utf8").trim().split("\n");
	return lines.map((line) => JSON.parse(line) as JsonRecord);
}

describe("copilot, by its record and its log", () => {
	const { readTranscript, profile } = adapterFrom(COPILOT);
	const meanings = linesOf("copilot.jsonl").flatMap((line) => readTranscript?.(line, read) ?? []);

	it("reports submitted prompts as they were typed", () => {
		expect(profile.confirmsPrompts).toBe(true);
		const prompts = meanings.flatMap(({ prompt }) => prompt ?? []);
		expect(prompts.slice(0, 4)).toEqual([
			...["say hello", "line one\nline   two ünï", "use the tool", "now 401"],
		]);
	});

	it("reports the start and the end of a tool", () => {
		const reported = meanings.filter(({ activity, inTool }) => inTool !== undefined && !activity);
		expect(reported).toEqual([{ inTool: true }, { inTool: false }]);
	});

	it("reports why turns failed, and which ones succeeded", () => {
		const causes = meanings.flatMap(({ failure }) => (failure ? [failure.cause] : []));
		expect(causes).toEqual(["auth", "overloaded", "overloaded", "refused"]);
		expect(meanings.findLast(({ failure }) => failure !== undefined)?.failure).toBeNull();
		expect(meanings.at(-1)).toMatchObject({ activity: "ready", inTool: false });
	});
});

test("copilot's log has the requests that it retries, with their causes", () => {
	const { readLog } = adapterFrom(COPILOT);
	const line = (fields: object) =>
		`2026-11-18T04:17:30.257Z [WARNING] [rust:model_events::producer] Model provider request failed ${JSON.stringify(fields)}\n`;
	const text = [
		"2026-11-18T04:16:39.048Z [INFO] [rust:turn_engine] Rate limit exceeded after 5 retries\n",
		line({ stage: "inference", http_status: 529, failure_kind: "http_error" }),
		line({ stage: "inference", failure_kind: "transport" }),
		line({ stage: "inference", http_status: 429, failure_kind: "http_error" }),
	].join("");
	const { records } = splitRecords(text);
	const causes = records.map((record) => readLog?.(record, read)?.attempt?.cause);
	expect(causes).toEqual([undefined, "overloaded", "overloaded", "usage_limit"]);
});

describe("qwen, by its hooks and its record", () => {
	const { readRecord, readTranscript } = adapterFrom(QWEN);

	it("reports its turns by hooks", () => {
		const records = linesOf("qwen-hooks.jsonl");
		const reported = records.map(({ event, data }) =>
			readRecord?.(String(event), Object(data), read),
		);
		// Its start, which it reports before it accepts a message.
		expect(reported.shift()).toBeNull();
		expect(reported).toMatchObject([
			{ activity: "busy", prompt: "say hello" },
			{ activity: "ready", failure: null },
			{ activity: "busy", prompt: "use the tool" },
			{ activity: "busy" },
			{ activity: "busy", prompt: "now 401" },
			{ activity: "ready", failure: { cause: "auth" }, detail: "401 invalid key" },
			{ activity: "ready", failure: null },
		]);
		// It runs the hook again when it continues after a tool, without a prompt.
		expect(reported[3]).not.toHaveProperty("prompt");
	});

	it("reports in its transcript why it retries", () => {
		const reported = linesOf("qwen.jsonl").flatMap((line) => readTranscript?.(line, read) ?? []);
		// Its record has the prompts too, which carry no reason.
		const words = new Set(reported.flatMap(({ detail }) => detail ?? []));
		expect([...words]).toEqual([
			...["401 invalid key", "529 Overloaded", "500 oh no"],
			"terminated (cause: UND_ERR_SOCKET: other side closed)",
		]);
	});
});
