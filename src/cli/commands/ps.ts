/** `reeve ps`: the agents and their states. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { splitHost } from "../../core/remote.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { renderAgentTable, renderTally, type SilentRemote } from "../agent-table.js";
import { checkScopes } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { selectIds } from "../resolve.js";

export async function runPs(
	scopes: readonly string[],
	options: { json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const silent: SilentRemote[] = [];
	const { client } = connect(env, (name, { message }) => {
		if (options.json) output.note(`note: ${message}`);
		silent.push({ name, reason: message });
	});
	const agents = await readAgents(scopes, client, silent);
	if (options.json) {
		output.json(agents);
		return CLI_EXIT.done;
	}
	const missing = silent.filter(({ name }) => concerns(name, scopes));
	if (agents.length === 0 && missing.length === 0) {
		output.note(NO_AGENTS);
		return CLI_EXIT.done;
	}
	for (const line of renderAgentTable(agents, output, Date.now(), missing)) output.result(line);
	if (output.columns !== null) output.note(output.sayColors.dim(renderTally(agents)));
	return CLI_EXIT.done;
}

/** Whether agents of this remote would be shown. */
function concerns(remote: string, scopes: readonly string[]): boolean {
	return scopes.length === 0 || scopes.some((scope) => splitHost(scope).host === remote);
}

export const NO_AGENTS =
	"no agents: `reeve init` writes a fleet file, `reeve up` starts its agents";

export async function readAgents(
	scopes: readonly string[],
	client: Client,
	/** Remotes that did not answer: whether they have such agents is unknown. */
	silent: readonly SilentRemote[] = [],
): Promise<readonly AgentJson[]> {
	const checked = checkScopes(scopes);
	const { agents } = await client.call("GET /api/v1/agents");
	if (scopes.length === 0) return agents;
	const wanted = checked.filter(
		(scope) => !silent.some(({ name }) => name === splitHost(scope).host),
	);
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
