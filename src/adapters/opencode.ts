/** opencode. Measured with 1.18. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

export const opencode: AgentAdapter = {
	name: "opencode",
	profile: {
		...PLAIN_PROFILE,
		command: ["opencode"],
		env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
		// It leaves 19 MB in there at every start.
		ownTmpdir: true,
		conversation: {
			id: "told",
			fresh: [],
			resume: ["-s", "<conversation>"],
			gone: ["[Ss]ession not found", "NotFound"],
			transcript: [],
		},
	},
};
