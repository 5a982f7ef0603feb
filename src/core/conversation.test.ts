import { describe, expect, it } from "vitest";
import { type ConversationIds, PLAIN_PROFILE } from "./adapter.js";
import { decideConversation, findConversation, isConversationGone } from "./conversation.js";

const profile = (id: ConversationIds, gone: readonly string[] = []) => ({
	...PLAIN_PROFILE,
	conversation: { ...PLAIN_PROFILE.conversation, id, gone },
});

describe("which conversation a start resumes", () => {
	const facts = {
		known: "old",
		withContinue: true,
		recorded: null,
		newId: "new",
		cwd: "/w",
	} as const;

	it.each([
		["chosen, and there is a record", "chosen", { recorded: true }, "resume", "old"],
		["chosen, and unknown whether it exists", "chosen", {}, "resume", "old"],
		["chosen, but it was never asked anything", "chosen", { recorded: false }, "fresh", "old"],
		["chosen, and there was none", "chosen", { known: null }, "fresh", "new"],
		["chosen, and a new one is wanted", "chosen", { withContinue: false }, "fresh", "new"],
		["reported, and known", "reported", {}, "resume", "old"],
		["reported, and not known yet", "reported", { known: null }, "fresh", null],
		["reported, and a new one is wanted", "reported", { withContinue: false }, "fresh", null],
		["last, and begun in this folder", "last", { known: "/w" }, "resume", "/w"],
		["last, and begun in another folder", "last", {}, "fresh", "/w"],
		["last, and there was none", "last", { known: null }, "fresh", "/w"],
		["last, and a new one is wanted", "last", { known: "/w", withContinue: false }, "fresh", "/w"],
		["none", "none", {}, "fresh", null],
	] as const)("%s", (_, id, given, mode, expected) => {
		expect(decideConversation(profile(id), { ...facts, ...given })).toEqual({ mode, id: expected });
	});
});

describe("whether a run ended because its conversation is not there", () => {
	const exit = { askedBy: null, code: 1, signal: null, uptimeMs: 300 };
	const strict = profile("chosen", ["No conversation found"]);
	const words = "No conversation found with session ID: 1";

	it("counts if it is reported immediately", () => {
		expect(isConversationGone(strict, true, exit, words)).toBe(true);
	});

	it.each([
		["when it began a new one", strict, false, {}, words],
		["when it says something else", strict, true, {}, "Segmentation fault"],
		["when it ran for a while", strict, true, { uptimeMs: 60_000 }, words],
		["when it was asked to end", strict, true, { askedBy: "operator" }, words],
		["when it ended well", strict, true, { code: 0 }, words],
		["when it was killed", strict, true, { code: null, signal: "SIGKILL" }, words],
	] as const)("is not so %s", (_, adapter, resumed, facts, reported) => {
		expect(isConversationGone(adapter, resumed, { ...exit, ...facts }, reported)).toBe(false);
	});

	it("is assumed for any quick failure of a CLI without known texts", () => {
		expect(isConversationGone(profile("chosen"), true, exit, "")).toBe(true);
	});
});

describe("the conversation whose record is held open", () => {
	const [one, two] = [
		"01a1e33f-6803-7672-a138-c17de2e5ea9f",
		"01a1e33f-6803-7672-a138-c17de2e5ea90",
	];
	const place = (id: string) =>
		`/h/.codex/sessions/2026/11/16/rollout-2026-11-16T07-25-45-${id}.jsonl`;
	const find = (files: readonly string[]) =>
		findConversation("/h/.codex/sessions/*/*/*/rollout-*-<conversation>.jsonl", files);

	it.each([
		["is the one", ["/dev/null", place(one), "/h/.codex/state.sqlite"], one],
		["is the one, though it is open twice", [place(one), place(one)], one],
		["is unknown among several", [place(one), place(two)], null],
		["is none of another place", [`/elsewhere${place(one)}`, `${place(one)}.bak`], null],
		["is unknown without its complete id", ["/h/.codex/sessions/2026/11/16/rollout-.jsonl"], null],
	])("%s", (_, files, id) => {
		expect(find(files)).toBe(id);
	});

	it("may have a name without dashes", () => {
		expect(findConversation("/s/<conversation>.json", ["/s/ses_1f.json"])).toBe("ses_1f");
	});
});
