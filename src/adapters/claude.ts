/** Claude Code. Measured with 2.1.325. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

export const claude: AgentAdapter = {
	name: "claude",
	profile: {
		...PLAIN_PROFILE,
		command: ["claude"],
		env: { DISABLE_AUTOUPDATER: "1" },
		ownTmpdir: true,
		conversation: {
			id: "chosen",
			fresh: ["--session-id", "<conversation>"],
			resume: ["--resume", "<conversation>"],
			gone: ["No conversation found"],
			// The folder is named after the working directory by a rule that has changed before.
			transcript: [
				"<CLAUDE_CONFIG_DIR>/projects/*/<conversation>.jsonl",
				"<home>/.claude/projects/*/<conversation>.jsonl",
			],
		},
		// The answer that a person would give first to each of these dialogs is "No, exit".
		seeds: [
			{
				file: ["<CLAUDE_CONFIG_DIR>/.claude.json", "<home>/.claude.json"],
				set: [
					{ path: ["hasCompletedOnboarding"], value: true },
					{ path: ["projects", "<cwd>", "hasTrustDialogAccepted"], value: true },
					{ path: ["projects", "<cwd>", "hasCompletedProjectOnboarding"], value: true },
				],
			},
		],
	},
};
