import { fileURLToPath } from "node:url";

/** The daemon program that belongs to this CLI. */
export const DAEMON_PROGRAM = fileURLToPath(new URL("../daemon/main.js", import.meta.url));

/**
 * How Node runs it: with the smallest young generation, because a larger one costs memory all the time and saves the daemon no CPU; collected by its own
 * thread, because waking others for so little costs more than it saves while hundreds of agents start; and with a way
 * to collect when it is idle (`src/daemon/self-care/trim-memory.ts`).
 */
export const DAEMON_FLAGS: readonly string[] = [
	"--max-semi-space-size=1",
	"--single-threaded-gc",
	"--expose-gc",
];
