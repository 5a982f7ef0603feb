import { fileURLToPath } from "node:url";

/** The program of the daemon that belongs to this command. */
export const DAEMON_PROGRAM = fileURLToPath(new URL("../daemon/main.js", import.meta.url));
