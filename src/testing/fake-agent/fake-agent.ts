/** The path and command line of the fake agent, for fleet files of tests. */

import { fileURLToPath } from "node:url";
import type { FakeAgentScript } from "./script.js";

/** The path of the program; run it with node. */
export const fakeAgentPath: string = fileURLToPath(
	new URL("./fake-agent-main.js", import.meta.url),
);

/** The command line of a fake agent with this script, for `command:` in a fleet file. */
export function fakeAgentCommand(script: FakeAgentScript = {}): [string, ...string[]] {
	return [process.execPath, fakeAgentPath, "--script", JSON.stringify(script)];
}
