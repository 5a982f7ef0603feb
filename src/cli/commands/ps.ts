/** `reeve ps` and `reeve sessions`: what there is and what it does. */

import { CLI_EXIT } from "../../core/errors.js";
import { renderElapsed } from "../../core/units.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { renderAgentTable, renderTally } from "../agent-table.js";
import { checkScopes, selectIds } from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { renderTable } from "../table.js";

export async function runPs(
	scopes: readonly string[],
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const agents = await readAgents(scopes, env);
	if (options.json) {
		output.json(agents);
		return CLI_EXIT.done;
	}
	if (agents.length === 0) {
		output.say("no agents yet: `reeve up` brings up those of reeve.yaml, `reeve init` writes one");
		return CLI_EXIT.done;
	}
	for (const line of renderAgentTable(agents, output, Date.now())) output.result(line);
	if (output.columns !== null) output.say(output.sayColors.dim(renderTally(agents)));
	return CLI_EXIT.done;
}

const SESSIONS_HEAD = ["AGENT", "RUN", "BACKEND", "PID", "SINCE", "FOR"];

export async function runSessions(
	scopes: readonly string[],
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const runs = (await readAgents(scopes, env)).filter((agent) => agent.run_id !== null);
	if (options.json) {
		output.json(
			runs.map(({ id, run_id, backend, pid, started_at, host }) => ({
				...{ agent: id, run_id, backend, pid, started_at, host },
			})),
		);
		return CLI_EXIT.done;
	}
	if (runs.length === 0) {
		output.say("nothing runs: `reeve ps` shows why, `reeve up` starts it");
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

async function readAgents(
	scopes: readonly string[],
	env: NodeJS.ProcessEnv,
): Promise<readonly AgentJson[]> {
	const wanted = scopes.length === 0 ? ["*"] : checkScopes(scopes);
	const { agents } = await connect(env).client.call("GET /api/v1/agents");
	const ids = new Set(
		selectIds(
			wanted,
			agents.map((agent) => agent.id),
			"the daemon",
		),
	);
	return agents.filter((agent) => ids.has(agent.id));
}

/** An ISO time as it is here: `2031-04-05 06:07:08`. */
export function localTime(iso: string): string {
	const at = new Date(iso);
	if (Number.isNaN(at.getTime())) return iso;
	const two = (value: number) => String(value).padStart(2, "0");
	const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
	return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
}
