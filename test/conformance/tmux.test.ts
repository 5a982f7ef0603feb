/** The tmux backend, with real servers and real programs. */

import { describeWithTmux } from "../support/needs.js";
import { runBackendSuite } from "./backend-suite.js";
import { runKillSuite, runProcessSuite } from "./process-suite.js";
import { createTmuxWorld } from "./tmux-world.js";

describeWithTmux("the tmux backend", () => {
	runBackendSuite("tmux", () => createTmuxWorld());
	runProcessSuite("tmux", () => createTmuxWorld());
	runKillSuite("tmux", () => createTmuxWorld());
});
