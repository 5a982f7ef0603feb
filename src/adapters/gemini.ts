/** Gemini CLI. Measured with 0.61. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

/** Laid over the user's own settings, for this agent alone. */
const SETTINGS = {
	security: { folderTrust: { enabled: false } },
	general: { enableAutoUpdate: false },
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
		ownTmpdir: true,
		conversation: {
			id: "chosen",
			fresh: ["--session-id", "<conversation>"],
			resume: ["--resume", "<conversation>"],
			gone: ["Invalid session identifier", "No previous sessions", "Error resuming session"],
			transcript: ["<home>/.gemini/tmp/*/chats/session-*-<conversation8>.jsonl"],
		},
		files: [{ name: "gemini-settings.json", text: JSON.stringify(SETTINGS) }],
	},
};
