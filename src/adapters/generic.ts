/** Any other program: Reeve starts it, watches its process, and knows nothing of what it does. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

export const generic: AgentAdapter = { name: "generic", profile: PLAIN_PROFILE };
