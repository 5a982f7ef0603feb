/** The command line of the program that drives an ACP agent. */

import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../acp/acp-main.js", import.meta.url));

export function acpCommand(
	agent: string,
	socket: string,
	command: readonly string[],
): [string, ...string[]] {
	return [process.execPath, PROGRAM, "--agent", agent, "--socket", socket, "--", ...command];
}
