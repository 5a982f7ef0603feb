/** What the engine is told of agent CLIs on this host. */

import { type Home, resolveLeases } from "../client/home.js";
import type { SessionWorld } from "../engine/life-world.js";
import { createConversationLeases } from "../host/conversation-leases.js";
import { adapterOf } from "./adapters.js";
import { readLastWords } from "./last-words.js";
import { logDirOf } from "./prepare-start.js";

export function createSessionWorld(
	home: Pick<Home, "logs">,
	env: Readonly<Record<string, string | undefined>>,
): SessionWorld {
	return {
		adapterOf,
		leases: createConversationLeases(resolveLeases(env)),
		lastWords: (spec) => readLastWords(logDirOf(home.logs, spec.id)),
	};
}
