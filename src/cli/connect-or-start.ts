/** The daemon of this home, for commands that must also work after it died, because agents survive it. */

import { existsSync } from "node:fs";
import { connect } from "./connect.js";
import type { Output } from "./output.js";

/** Starts a daemon if none runs and an earlier one recorded agents. Without a record there is nothing to find. */
export async function connectOrStart(
	env: NodeJS.ProcessEnv,
	output: Output,
	{ json }: { readonly json?: boolean },
): Promise<ReturnType<typeof connect>> {
	const connected = connect(env);
	const { home, client } = connected;
	if (!existsSync(home.database)) return connected;
	const { ensureDaemon } = await import("./daemon-process.js");
	const { started } = await ensureDaemon({ home, env });
	if (started === null) return connected;
	if (!json) output.note(`no daemon was running; started one (pid ${started.pid})`);
	const { warnOfProblems } = await import("./warn-of-problems.js");
	await warnOfProblems(home, client, output);
	return connected;
}
