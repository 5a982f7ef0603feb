/** `reeve sessions`: the runs, their backends and processes. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { renderElapsed } from "../../core/units.js";
import { connectOrStart } from "../connect-or-start.js";
import type { Cli } from "../output.js";
import { renderTable } from "../table.js";
import { localTime, NO_AGENTS, readAgents } from "./ps.js";

const SESSIONS_HEAD = ["AGENT", "RUN", "BACKEND", "PID", "SINCE", "FOR"];

export async function runSessions(
	scopes: readonly string[],
	options: { json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = await connectOrStart(env, output, options);
	const agents = await readAgents(scopes, client);
	const runs = agents.filter((agent) => agent.run_id !== null);
	if (options.json) {
		output.json(
			runs.map(({ id, run_id, backend, pid, started_at, host }) => ({
				agent: id,
				run_id,
				backend,
				pid,
				started_at,
				host,
			})),
		);
		return CLI_EXIT.done;
	}
	if (runs.length === 0) {
		const idle = "no agent is running: `reeve ps` shows why, `reeve up` starts them";
		output.note(agents.length === 0 ? NO_AGENTS : idle);
		return CLI_EXIT.done;
	}
	const rows = runs.map((run) =>
		[
			run.id,
			run.run_id ?? "-",
			run.backend,
			String(run.pid ?? "-"),
			run.started_at === null ? "-" : localTime(run.started_at),
			run.uptime_ms === null ? "-" : renderElapsed(run.uptime_ms),
		].map((text) => ({ text })),
	);
	for (const line of renderTable(SESSIONS_HEAD, rows, output.columns, ["RUN", "SINCE"]))
		output.result(line);
	return CLI_EXIT.done;
}
