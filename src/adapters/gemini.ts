/** Gemini CLI. Measured with 0.61. */

import { PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import type { SignMeaning } from "../core/sign.js";
import type { AgentAdapter, JsonRecord } from "../ports/adapter.js";

const hook = (event: string, keep: "each" | "last") => ({
	matcher: "*",
	hooks: [
		{
			...{ name: "reeve", type: "command", timeout: 10_000 },
			command: `sh "$REEVE_HOOK" ${event} ${keep}`,
		},
	],
});

const EACH = ["SessionStart", "BeforeAgent", "AfterAgent", "Notification", "SessionEnd"];
const LAST = ["BeforeTool", "AfterTool"];

/** Laid over the user's own settings, for this agent alone. */
const SETTINGS = {
	security: { folderTrust: { enabled: false } },
	general: { enableAutoUpdate: false },
	hooks: Object.fromEntries([
		...EACH.map((event) => [event, [hook(event, "each")]]),
		...LAST.map((event) => [event, [hook(event, "last")]]),
	]),
};

export const gemini: AgentAdapter = {
	name: "gemini",
	profile: {
		...PLAIN_PROFILE,
		command: ["gemini"],
		env: {
			// Its launcher swallows every signal; without it there is one process, and that ends.
			GEMINI_CLI_NO_RELAUNCH: "true",
			GEMINI_CLI_SYSTEM_SETTINGS_PATH: "<folder>/gemini-settings.json",
		},
		confirmsPrompts: true,
		screen: {
			ready: ["Type your message"],
			busy: ["esc to cancel"],
			waitingInput: ["^[\\s│]*● \\d+\\. ", "Waiting for user confirmation"],
			rateLimited: ["Usage limit reached for", "exhausted your (daily )?quota"],
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
		files: [{ name: "gemini-settings.json", text: JSON.stringify(SETTINGS) }],
	},
	readRecord(event, data) {
		const meaning = meaningOf(event, data);
		const id = data["session_id"];
		return meaning === null || typeof id !== "string" ? meaning : { ...meaning, conversation: id };
	},
};

function meaningOf(event: string, data: JsonRecord): SignMeaning | null {
	switch (event) {
		case "SessionStart":
			return { activity: "ready" };
		case "BeforeAgent":
			return { activity: "busy", prompt: String(data["prompt"] ?? "") };
		case "BeforeTool":
			return { activity: "busy", inTool: true };
		case "AfterTool":
			return { activity: "busy", inTool: false };
		case "Notification":
			return data["notification_type"] === "ToolPermission" ? { activity: "waiting_input" } : null;
		case "AfterAgent":
			// It comes after failures as well, with no words of the model.
			return data["prompt_response"] === "[no response text]"
				? { activity: "ready" }
				: { activity: "ready", failure: null };
		case "SessionEnd":
			return { activity: "unknown" };
		default:
			return null;
	}
}
