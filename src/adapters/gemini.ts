/** Gemini CLI. Measured with 0.61. */

import { PLAIN_PROFILE, SERVICE_TEXTS, type TextCause } from "../core/adapter.js";
import { failureOf } from "../core/exit-cause.js";
import type { SignMeaning } from "../core/sign.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";

export const gemini: AgentAdapter = {
	name: "gemini",
	profile: {
		...PLAIN_PROFILE,
		command: ["gemini"],
		// Its hooks could only come with the user's settings, or with system settings that root alone owns.
		seedArgs: ["--skip-trust"],
		env: {
			// Its launcher swallows every signal; without it there is one process, and that ends.
			GEMINI_CLI_NO_RELAUNCH: "true",
		},
		confirmsPrompts: true,
		screen: {
			// Also with a text in its input: an Enter that comes soon after its start is swallowed.
			ready: ["Type your message", "^ [*>] .*(?=\\n(.*\\n){0,6}? workspace \\(/directory\\))"],
			// A tool that says nothing for a while is taken for one that wants to be typed into.
			busy: ["\\(esc to cancel, [\\dhms ]+\\)", "Shell awaiting input \\(Tab to focus\\)"],
			waitingInput: ["^[\\s│]*● \\d+\\. ", "Waiting for user confirmation"],
			// The record tells of a tool when it has ended.
			inTool: ["^[\\s│]*[⊶⊷] "],
			rateLimited: ["^│ Usage limit reached for"],
			questionsReplaceInput: true,
			dialogs: [
				{ name: "trust", when: "Do you trust the files in this folder", choose: "^Trust folder" },
			],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		exits: {
			codes: [
				{ code: 41, cause: "auth" },
				{ code: 42, cause: "config" },
				{ code: 44, cause: "config" },
				{ code: 52, cause: "config" },
				{ code: 55, cause: "config" },
			],
			zeroLies: false,
			texts: [
				{
					match: "invalid auth method|auth method",
					cause: "auth",
					fix: "Choose a way to log in: start `gemini` once by hand, or set `security.auth.selectedType` in its settings.",
				},
				{ match: "unknown argument|invalid configuration", cause: "config", fix: null },
				...SERVICE_TEXTS,
			],
		},
		conversation: {
			id: "chosen",
			fresh: ["--session-id", "<conversation>"],
			resume: ["--resume", "<conversation>"],
			gone: ["Invalid session identifier", "No previous sessions", "Error resuming session"],
			transcript: ["<home>/.gemini/tmp/*/chats/session-*-<conversation8>.jsonl"],
		},
	},
	readTranscript,
	usage: { read: readUsage },
};

/** Of a connection that was lost it says the least. */
const FAILURES: readonly TextCause[] = [
	...SERVICE_TEXTS,
	{ match: "API Error: (terminated|fetch failed)", cause: "overloaded", fix: null },
];

/** Its record has every prompt and every answer, but not the end of a turn: that is on the screen. */
function readTranscript(line: JsonRecord, { resetAtMs }: SignReader): SignMeaning | null {
	const words = textOf(line["content"]);
	switch (line["type"]) {
		case "user":
			return { activity: "busy", prompt: words };
		case "gemini":
			return { failure: null };
		case "error":
			return failureOf(words, resetAtMs, FAILURES);
		default:
			return null;
	}
}

function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content.map((part) => String((part as JsonRecord)["text"] ?? "")).join("");
}

/** An answer is written again when its tools have run. */
function readUsage(line: JsonRecord): UsageReading | null {
	const { type, id, tokens } = line;
	if (type !== "gemini" || typeof id !== "string" || !tokens) return null;
	const told = Object(tokens) as JsonRecord;
	const cacheRead = numberOf(told["cached"]);
	return {
		...{ key: id, isTotal: false, costUsd: null, cacheRead, cacheWrite: 0 },
		input: Math.max(0, numberOf(told["input"]) - cacheRead) + numberOf(told["tool"]),
		output: numberOf(told["output"]) + numberOf(told["thoughts"]),
	};
}
