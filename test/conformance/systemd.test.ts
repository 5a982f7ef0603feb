/** The systemd backend over a fake `systemd-run`; the same runs over the real one in test/systemd. */

import { afterAll } from "vitest";
import type { UserManager } from "../../src/backends/systemd/user-manager.js";
import { runBackendSuite } from "./backend-suite.js";
import { runKillSuite, runProcessSuite } from "./process-suite.js";
import { createFakeSystemd, createSystemdWorld } from "./systemd-world.js";

const fake = createFakeSystemd();
afterAll(() => fake.remove());
const create = () => createSystemdWorld(fake.find() as UserManager);
runBackendSuite("systemd", create);
runProcessSuite("systemd", create);
runKillSuite("systemd", create);
