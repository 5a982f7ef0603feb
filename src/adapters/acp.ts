/** Any agent that speaks the Agent Client Protocol; the fleet file names its program. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

export const acp: AgentAdapter = { name: "acp", profile: PLAIN_PROFILE };
