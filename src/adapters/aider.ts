/** aider. It has no conversation ids, but resumes from its history file. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
import type { AgentAdapter } from "../ports/adapter.js";

const HISTORY = "<folder>/history-<conversation>.md";

export const aider: AgentAdapter = {
	name: "aider",
	profile: {
		...PLAIN_PROFILE,
		command: ["aider"],
		args: ["--no-check-update", "--no-show-release-notes"],
		drain: ["turn", "ctrl_c", "sigterm"],
		ownTmpdir: true,
		exits: { codes: [{ code: 2, cause: "config" }], texts: SERVICE_TEXTS },
		conversation: {
			id: "chosen",
			fresh: ["--chat-history-file", HISTORY],
			resume: ["--chat-history-file", HISTORY, "--restore-chat-history"],
			gone: ["history file.*not found"],
			transcript: [HISTORY],
		},
	},
};
