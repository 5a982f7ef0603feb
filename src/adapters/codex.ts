/** OpenAI Codex. Measured with 0.166. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

export const codex: AgentAdapter = {
	name: "codex",
	profile: {
		...PLAIN_PROFILE,
		command: ["codex"],
		// Settings of this start alone: the user's own file is not touched.
		args: [
			// Otherwise the work moves into a process that outlives every way to stop the agent.
			...["-c", "features.daemon_auto_start=false"],
			...["-c", "check_for_update_on_startup=false"],
			...["-c", 'projects={"<cwd>"={trust_level="trusted"}}'],
		],
		ownTmpdir: true,
		conversation: {
			id: "told",
			fresh: [],
			resume: ["resume", "<conversation>"],
			gone: ["[Nn]o (saved )?(session|conversation|thread|rollout)", "not found"],
			transcript: [
				"<CODEX_HOME>/sessions/*/*/*/rollout-*-<conversation>.jsonl",
				"<home>/.codex/sessions/*/*/*/rollout-*-<conversation>.jsonl",
			],
		},
	},
};
