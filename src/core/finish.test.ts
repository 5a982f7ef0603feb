import { describe, expect, test } from "vitest";
import { firstSentence, lastFinish } from "./finish.js";
import type { AgentSign, SignMeaning } from "./sign.js";

const sign = (atMs: number, meaning: SignMeaning, source: AgentSign["source"] = "hook") =>
	({ atMs, source, name: "any", ...meaning }) as const;
const seen = (activity: "busy" | "ready" | "unknown") => ({ activity, atMs: 99 });
const PROMPT = { activity: "busy", prompt: "do it" } as const;
const END = { activity: "ready", failure: null, answer: "Done." } as const;
const FAILED = { activity: "ready", failure: { cause: "auth", resetAtMs: null } } as const;

describe("a completed turn", () => {
	test("is reported with its answer", () => {
		const signs = [sign(1, PROMPT), sign(2, END)];
		expect(lastFinish(signs, seen("busy"), seen("ready"))).toEqual({ atMs: 2, text: "Done." });
	});

	test("is over when the next one starts, or when it fails after all", () => {
		const signs = [sign(1, PROMPT), sign(2, END), sign(3, PROMPT)];
		expect(lastFinish(signs, seen("ready"), seen("busy"))).toBeNull();
		const failed = [sign(1, PROMPT), sign(2, END), sign(3, FAILED)];
		expect(lastFinish(failed, seen("busy"), seen("ready"))).toBeNull();
	});

	test("is not one that failed or was interrupted", () => {
		expect(lastFinish([sign(1, PROMPT), sign(2, FAILED)], seen("busy"), seen("ready"))).toBeNull();
		const start = sign(1, { activity: "ready" });
		expect(lastFinish([start, sign(2, PROMPT)], seen("busy"), seen("ready"))).toBeNull();
	});

	test("without a report is visible on the screen after the last response", () => {
		const answer = { failure: null, answer: "All types are there." } as const;
		const signs = [sign(1, PROMPT, "transcript"), sign(2, answer, "transcript")];
		const finish = { atMs: 2, text: "All types are there." };
		expect(lastFinish(signs, seen("busy"), seen("ready"))).toBeNull();
		expect(lastFinish(signs, seen("ready"), seen("ready"))).toEqual(finish);
		const next = [...signs, sign(3, PROMPT, "transcript")];
		expect(lastFinish(next, seen("ready"), seen("ready"))).toBeNull();
	});

	test("without any records is a busy screen that becomes ready", () => {
		expect(lastFinish([], seen("busy"), seen("ready"))).toEqual({ atMs: 99, text: null });
		expect(lastFinish([], seen("unknown"), seen("ready"))).toBeNull();
	});
});

test.each([
	[
		"All 212 endpoints have types now; 4 needed a cast. I also…",
		"All 212 endpoints have types now; 4 needed a cast.",
	],
	["**Done!** Next…", "Done!"],
	["```ts\ncode()\n```\nVersion 1.2 is out", "Version 1.2 is out"],
	["", ""],
])("the first sentence of %j", (text, sentence) => {
	expect(firstSentence(text)).toBe(sentence);
});
