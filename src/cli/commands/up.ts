/** `reeve up`: reads the fleet file, starts a daemon where there is none, and brings up what is asked for. */

import type { FleetSpec } from "../../config/spec.js";
import { CLI_EXIT } from "../../core/errors.js";
import type { StartedJson } from "../../http/contract/agents.js";
import { tally } from "../agent-table.js";
import { countOf, parseScopes, selectIds } from "../arguments.js";
import { connect } from "../connect.js";
import { ensureDaemon } from "../daemon-process.js";
import type { Output } from "../output.js";
import { readFleet } from "../read-fleet.js";
import { type Cell, renderTable } from "../table.js";
import { warnOfProblems } from "../warn-of-problems.js";
import { withProgress } from "../watch-progress.js";

export async function runUp(
	scopes: readonly string[],
	options: { file: string; all?: boolean; json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const wanted = parseScopes(scopes, options.all === true || scopes.length === 0, "up");
	const fleet = await readFleet(options.file, env);
	const { lasting, onCall } = selectAgents(fleet, wanted, options.file);
	const { home, client } = connect(env);
	const { started } = await ensureDaemon({ home, env });
	if (started !== null) {
		if (!options.json) output.say(`started a daemon (pid ${started.pid})`);
		await warnOfProblems(home, client, output);
	}

	const work = async () => {
		const replies: StartedJson[] = [];
		for (const scope of wanted) {
			const body = { fleet, scope };
			replies.push(...(await client.call("POST /api/v1/fleet/up", { body })).agents);
		}
		return firstOfEach(replies);
	};
	const watched = { ids: lasting, word: "up", isDone: isUp };
	const agents = await withProgress(work(), watched, client, output);

	if (options.json) output.json(agents);
	else tellStarted(agents, onCall, output);
	const failed = agents.some(({ outcome }) => outcome === "failed" || outcome === "halted");
	return failed ? CLI_EXIT.failed : CLI_EXIT.done;
}

function isUp(agent: { readonly process: string }): boolean {
	return agent.process === "running";
}

/** The agents that are brought up, and how many there are that each call starts anew. */
function selectAgents(
	fleet: FleetSpec,
	scopes: readonly string[],
	file: string,
): { readonly lasting: readonly string[]; readonly onCall: number } {
	const ids = fleet.agents.map(({ id }) => id);
	const chosen = new Set(selectIds(scopes, ids, file));
	const lasting = fleet.agents.filter(({ id, kind }) => chosen.has(id) && kind !== "call");
	return { lasting: lasting.map(({ id }) => id), onCall: chosen.size - lasting.length };
}

/** Scopes may overlap: what was said first of an agent is what was done to it. */
export function firstOfEach<Item extends { readonly id: string }>(items: readonly Item[]): Item[] {
	const byId = new Map<string, Item>();
	for (const item of items) if (!byId.has(item.id)) byId.set(item.id, item);
	return [...byId.values()];
}

export const STARTED_WORDS: Readonly<Record<StartedJson["outcome"], string>> = {
	started: "started",
	already_running: "already running",
	failed: "failed",
	halted: "halted",
	stopped: "stopped",
	over_budget: "over budget",
	waiting: "waiting",
	changed: "changed",
};

function tellStarted(agents: readonly StartedJson[], onCall: number, output: Output): void {
	const rows = agents
		.filter(({ outcome }) => outcome !== "started" && outcome !== "already_running")
		.map((agent) => renderStarted(agent, output));
	if (rows.length > 0) {
		for (const line of renderTable(["AGENT", "OUTCOME", "REASON"], rows, output.columns))
			output.result(line);
	}
	const words = agents.map(({ outcome }) => STARTED_WORDS[outcome]);
	const ready = onCall === 0 ? [] : [`${onCall} on call`];
	const all = agents.length + onCall;
	output.result(
		`${countOf(all, "agent")}: ${[...(all > onCall ? [tally(words)] : []), ...ready].join(", ")}`,
	);
	for (const [outcome, hint] of HINTS) {
		// Those that wait for another agent have not asked anything.
		const hit = agents.find((agent) => agent.outcome === outcome && !isBlocked(agent));
		if (hit !== undefined) output.say(`hint: ${hint(hit.id)}`);
	}
}

function isBlocked({ outcome, reason }: StartedJson): boolean {
	return outcome === "waiting" && reason.startsWith("waits for ");
}

function renderStarted({ id, outcome, reason }: StartedJson, { colors }: Output): Cell[] {
	const bad = outcome === "failed" || outcome === "halted";
	return [
		{ text: id },
		{ text: STARTED_WORDS[outcome], paint: bad ? colors.red : colors.yellow },
		{ text: reason },
	];
}

const HINTS: readonly (readonly [StartedJson["outcome"], (id: string) => string])[] = [
	["failed", (id) => `\`reeve logs ${id}\` shows what it last said`],
	[
		"halted",
		(id) => `\`reeve explain ${id}\` says why; \`reeve resume ${id}\` lets it start again`,
	],
	["over_budget", (id) => `\`reeve resume ${id}\` lets it go on for today`],
	["waiting", (id) => `\`reeve answer ${id} fresh|continue|stop\` says what comes next`],
	["changed", () => "`reeve reload` brings what runs to what the file says"],
];
