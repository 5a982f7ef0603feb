/** pi, the coding agent. Measured with 0.73. A session file that is named and not there is begun. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

const SESSION = "<folder>/pi-<conversation>.jsonl";

export const pi: AgentAdapter = {
	name: "pi",
	profile: {
		...PLAIN_PROFILE,
		command: ["pi"],
		ownTmpdir: true,
		conversation: {
			id: "chosen",
			fresh: ["--session", SESSION],
			resume: ["--session", SESSION],
			gone: ["[Nn]o session found"],
			transcript: [SESSION],
		},
	},
};
