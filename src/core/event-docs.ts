/** The meaning of each event, for the reference page. The compiler requires every type and field. */

import { AGENT_EVENT_DOCS } from "./event-docs-agents.js";
import { DAEMON_EVENT_DOCS } from "./event-docs-daemon.js";
import { WORK_EVENT_DOCS } from "./event-docs-work.js";
import type { EventDocs } from "./events.js";

export const EVENT_DOCS: EventDocs = {
	...AGENT_EVENT_DOCS,
	...WORK_EVENT_DOCS,
	...DAEMON_EVENT_DOCS,
};
