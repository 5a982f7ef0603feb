import { describe, expect, it } from "vitest";
import type { SignRule } from "./adapter.js";
import { SERVICE_TEXTS } from "./service-errors.js";
import { readByRules } from "./sign-rule.js";

const reader = {
	resetAtMs: (text: string) => (text.includes("3pm") ? 5_000 : null),
	texts: [{ match: "no more tea", cause: "usage_limit", fix: null } as const, ...SERVICE_TEXTS],
};
const read = (rule: SignRule | readonly SignRule[], data: object) =>
	readByRules(Array.isArray(rule) ? rule : [rule as SignRule], { ...data }, reader);

describe("the meaning of a record, by rules", () => {
	it.each<[string, SignRule, object, object | null]>([
		[
			"that something was done",
			{ activity: "busy", inTool: true },
			{},
			{ activity: "busy", inTool: true },
		],
		["a prompt, by its keys", { prompt: "a.b" }, { a: { b: "hi" } }, { prompt: "hi" }],
		[
			"a field whose key contains dots",
			{ prompt: "attributes.gen_ai.prompt.text" },
			{ attributes: { "gen_ai.prompt": { text: "hi" }, "gen_ai.prompt.id": "x" } },
			{ prompt: "hi" },
		],
		[
			"a prompt in parts",
			{ prompt: "m.parts" },
			{ m: { parts: [{ text: "a" }, { text: "b" }] } },
			{ prompt: "ab" },
		],
		["a prompt in a list", { prompt: "m.0.text" }, { m: [{ text: "a" }] }, { prompt: "a" }],
		[
			"no prompt where it is empty",
			{ activity: "busy", prompt: "p" },
			{ p: "" },
			{ activity: "busy" },
		],
		["no prompt where there is none", { prompt: "a.b.c" }, { a: "x" }, null],
		[
			"a prompt in parts, of which some are text and some are nothing",
			{ prompt: "m" },
			{ m: ["a", null, { text: "b" }, 5] },
			{ prompt: "ab5" },
		],
		[
			"a prompt that is an object, as JSON",
			{ prompt: "m" },
			{ m: { x: 1 } },
			{ prompt: '{"x":1}' },
		],
		["nothing of what every object has", { prompt: "constructor.name" }, {}, null],
		[
			"nothing of a record that its rule only skips",
			{ where: { path: "type", match: "^aside$" } },
			{ type: "aside", text: "hi" },
			null,
		],
		["the conversation", { conversation: "id" }, { id: "c-1" }, { conversation: "c-1" }],
		["a successful turn", { turn: "ok" }, {}, { failure: null }],
		["a successful request", { request: "ok" }, {}, { attempt: null }],
		[
			"a request that failed, by its status",
			{ request: "failed", status: "http.code", detail: "text" },
			{ http: { code: 503 }, text: "again" },
			{ attempt: { cause: "overloaded", resetAtMs: null }, detail: "again" },
		],
		[
			"a request that failed, by a cause that is given",
			{ request: "failed", cause: "overloaded" },
			{},
			{ attempt: { cause: "overloaded", resetAtMs: null } },
		],
		[
			"a turn that failed, by its status",
			{ turn: "failed", status: "code" },
			{ code: 402 },
			{ failure: { cause: "billing", resetAtMs: null } },
		],
		[
			"a turn that failed, by what the service said",
			{ turn: "failed", detail: "e" },
			{ e: "401 invalid key" },
			{ failure: { cause: "auth", resetAtMs: null }, detail: "401 invalid key" },
		],
		[
			"a turn that failed, with the CLI's error text",
			{ turn: "failed", detail: "e" },
			{ e: "no more tea until 3pm" },
			{ failure: { cause: "usage_limit", resetAtMs: 5_000 }, detail: "no more tea until 3pm" },
		],
		[
			"a turn that failed for an unknown reason",
			{ turn: "failed", detail: "e" },
			{ e: "oh" },
			{ failure: { cause: "unknown", resetAtMs: null }, detail: "oh" },
		],
		[
			"a cause that is always the same",
			{ cause: "auth" },
			{},
			{ failure: { cause: "auth", resetAtMs: null } },
		],
		[
			"the end of a limit in seconds",
			{ cause: "usage_limit", resetsAt: "at" },
			{ at: 4_000_000_000 },
			{ failure: { cause: "usage_limit", resetAtMs: 4_000_000_000_000 } },
		],
		[
			"the end of a limit in milliseconds",
			{ cause: "usage_limit", resetsAt: "at" },
			{ at: "4000000000000" },
			{ failure: { cause: "usage_limit", resetAtMs: 4_000_000_000_000 } },
		],
		[
			"nothing, where the rule is for others",
			{ where: { path: "type", match: "^user$" } },
			{ type: "users" },
			null,
		],
		["nothing, where that is not there at all", { where: { path: "type", match: "" } }, {}, null],
	])("%s", (_, rule, data, meaning) => {
		expect(read(rule, data)).toEqual(meaning);
	});

	it("is given by the first matching rule", () => {
		const rules: SignRule[] = [
			{ where: { path: "error", match: "^rate_limit$" }, cause: "usage_limit" },
			{ cause: "overloaded" },
		];
		expect(read(rules, { error: "rate_limit" })).toMatchObject({
			failure: { cause: "usage_limit" },
		});
		expect(read(rules, { error: "other" })).toMatchObject({ failure: { cause: "overloaded" } });
	});
});
