/** Any other program: Reeve starts it and watches its process, without knowing its activity. */

import { PLAIN_PROFILE } from "../core/adapter.js";
import type { AgentAdapter } from "../ports/adapter.js";

export const generic: AgentAdapter = { name: "generic", profile: PLAIN_PROFILE };
