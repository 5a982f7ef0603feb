/** The pty backend, with real holders and real programs. */

import { runBackendSuite } from "./backend-suite.js";
import { runKillSuite, runProcessSuite } from "./process-suite.js";
import { createPtyWorld } from "./pty-world.js";

runBackendSuite("pty", () => createPtyWorld());
runProcessSuite("pty", () => createPtyWorld());
runKillSuite("pty", () => createPtyWorld());
runKillSuite("pty without control groups", () => createPtyWorld({ groups: false }));
