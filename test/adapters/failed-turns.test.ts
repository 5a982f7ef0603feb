/** What real records say of turns that failed. The model API answered the prompt `now 401` with a 401, and so on. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SignMeaning } from "../../src/core/sign.js";
import { adapterOf } from "../../src/daemon/adapters.js";
import { parseResetTime } from "../../src/daemon/reset-time.js";
import type { JsonRecord } from "../../src/ports/adapter.js";

const read = { resetAtMs: (text: string) => parseResetTime(text, Date.UTC(2026, 10, 16), () => 0) };

/** What each line means, by the prompt that was submitted last. */
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
	])("tells a turn that met %s as %s", (failure, cause) => {
		expect(failureIn(meaningsOf("codex", `now ${failure}`))?.cause).toBe(cause);
	});

	test("tells when a limit ends, and that a turn went well", () => {
		const resetAtMs = Date.UTC(2099, 0, 1);
		expect(failureIn(meaningsOf("codex", "now limit"))).toEqual({
			...{ cause: "usage_limit", resetAtMs },
		});
		expect(failureIn(meaningsOf("codex", "now ok"))).toBeNull();
	});

	test("tells that a tool runs until it has ended", () => {
		const tools = meaningsOf("codex", "now tool").flatMap(({ inTool }) => inTool ?? []);
		expect(tools).toEqual([true, false, false]);
	});
});

describe("gemini", () => {
	test.each([
		["401", "auth"],
		["dropped", "overloaded"],
	])("tells a turn that met %s as %s", (failure, cause) => {
		expect(failureIn(meaningsOf("gemini", `now ${failure}`))?.cause).toBe(cause);
	});

	test.each(["429", "500"])("tells nothing of %s, which it tries again for minutes", (failure) => {
		expect(failureIn(meaningsOf("gemini", `now ${failure}`))).toBeUndefined();
	});
});
