/** `reeve ps`: the agents and their states. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT } from "../../core/errors.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { renderAgentTable, renderTally } from "../agent-table.js";
import { checkScopes } from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { selectIds } from "../resolve.js";

export async function runPs(
	scopes: readonly string[],
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const agents = await readAgents(scopes, connect(env).client);
	if (options.json) {
		output.json(agents);
		return CLI_EXIT.done;
	}
	if (agents.length === 0) {
		output.say(NO_AGENTS);
		return CLI_EXIT.done;
	}
	for (const line of renderAgentTable(agents, output, Date.now())) output.result(line);
	if (output.columns !== null) output.say(output.sayColors.dim(renderTally(agents)));
	return CLI_EXIT.done;
}

export const NO_AGENTS =
	"no agents: `reeve init` writes a fleet file, `reeve up` starts its agents";

export async function readAgents(
	scopes: readonly string[],
	client: Client,
): Promise<readonly AgentJson[]> {
	const wanted = scopes.length === 0 ? ["*"] : checkScopes(scopes);
	const { agents } = await client.call("GET /api/v1/agents");
	const ids = new Set(
		selectIds(
			wanted,
			agents.map((agent) => agent.id),
			"the daemon",
		),
	);
	return agents.filter((agent) => ids.has(agent.id));
}

/** An ISO time in local time: `2031-04-05 06:07:08`. */
export function localTime(iso: string): string {
	const at = new Date(iso);
	if (Number.isNaN(at.getTime())) return iso;
	const two = (value: number) => String(value).padStart(2, "0");
	const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
	return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
}
