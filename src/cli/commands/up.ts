/** `reeve up`: reads the fleet file, starts a daemon if necessary, and starts the agents in scope. */

import type { FleetSpec } from "../../config/spec.js";
import { fleetToJson } from "../../config/spec-schema.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { splitHost } from "../../core/remote.js";
import type { StartedJson } from "../../http/contract/agents.js";
import { tally } from "../agent-table.js";
import { countOf, parseScopes } from "../arguments.js";
import { connect } from "../connect.js";
import { ensureDaemon } from "../daemon-process.js";
import {
	checkEnvFiles,
	printUnlistedPassEnv,
	printUnset,
	printWarnings,
} from "../environment-notes.js";
import type { Cli, Output } from "../output.js";
import { readFleet } from "../read-fleet.js";
import { resolveScopes, selectIds } from "../resolve.js";
import { isFailedStart, printStartHints, START_WORDS, startCell } from "../start-report.js";
import { renderTable } from "../table.js";
import { parseWaitTimeout, waitUntilUp } from "../wait-until-up.js";
import { warnOfProblems } from "../warn-of-problems.js";
import { withProgress } from "../watch-progress.js";

/** With `--wait`: how long the request itself waits for starts. */
const STARTS_MS_MAX = 1_000;

export interface UpOptions {
	readonly file: string;
	readonly all?: boolean;
	readonly wait?: boolean;
	readonly timeout?: string;
	readonly json?: boolean;
}

export async function runUp(
	scopes: readonly string[],
	options: UpOptions,
	{ output, env }: Cli,
): Promise<number> {
	const asked = parseScopes(scopes, options.all === true || scopes.length === 0, "up");
	const timeoutMs = parseWaitTimeout(options);
	const onRemotes = asked.filter((scope) => env["REEVE_HOST"] || splitHost(scope).host !== null);
	if (onRemotes.length > 0) return upOnRemotes(asked, onRemotes, options, { output, env });
	const fleet = await readFleet(options.file, env);
	const ids = fleet.agents.map(({ id }) => id);
	const wanted = resolveScopes(asked, ids, options.file);
	const { lasting, onCall } = selectAgents(fleet, wanted, options.file);
	printWarnings(await checkEnvFiles(fleet), output);
	await printUnlistedPassEnv(fleet, env, output);
	const { home, client } = connect(env);
	const { started } = await ensureDaemon({ home, env });
	if (started !== null) {
		if (!options.json) output.note(`started a daemon (pid ${started.pid})`);
		await warnOfProblems(home, client, output);
	}

	const sinceMs = performance.now();
	const work = async () => {
		const replies: StartedJson[] = [];
		for (const scope of wanted) {
			const body = {
				fleet: fleetToJson(fleet),
				scope,
				// The wait that follows knows more: what is ready, what has failed, and the time limit.
				...(options.wait === true && { wait_ms: Math.min(timeoutMs, STARTS_MS_MAX) }),
			};
			replies.push(...(await client.call("POST /api/v1/fleet/up", { body })).agents);
		}
		return firstOfEach(replies);
	};
	const watched = { ids: lasting, word: "up", isDone: isUp };
	const agents = await withProgress(work(), watched, client, output);
	await printUnset(fleet, client, output);

	if (options.json) output.json(agents);
	else printStarted(agents, onCall, output);
	const failed = agents.some(({ outcome }) => isFailedStart(outcome));
	if (options.wait === true && !failed) {
		const finishing = new Set(fleet.agents.filter(isOneShot).map(({ id }) => id));
		const waitedFor = lasting.filter((id) => hasProcess(fleet, id));
		const waited = { ids: waitedFor, finishing, sinceMs, timeoutMs };
		return waitUntilUp(waited, client, output, options.json === true);
	}
	return failed ? CLI_EXIT.failed : CLI_EXIT.done;
}

/** Starts agents of the fleets that other daemons know: their fleet files are on their hosts. */
async function upOnRemotes(
	asked: readonly string[],
	onRemotes: readonly string[],
	options: UpOptions,
	{ output, env }: Cli,
): Promise<number> {
	if (onRemotes.length < asked.length) {
		const hint = "Run `reeve up` once for this host and once for the remotes.";
		throw new ReeveError("usage", "agents of this host and of remotes cannot be combined", hint);
	}
	if (options.wait === true) {
		throw new ReeveError("usage", "--wait does not work on remotes", "Run it on that host.");
	}
	const { client } = connect(env);
	const agents: StartedJson[] = [];
	for (const place of onRemotes) {
		agents.push(...(await client.call("POST /api/v1/agents/:scope/up", { place })).agents);
	}
	const each = firstOfEach(agents);
	if (options.json) output.json(each);
	else printStarted(each, 0, output);
	return each.some(({ outcome }) => isFailedStart(outcome)) ? CLI_EXIT.failed : CLI_EXIT.done;
}

/** A worker agent without a minimum starts its processes with the first request. */
function hasProcess(fleet: FleetSpec, id: string): boolean {
	const spec = fleet.agents.find((each) => each.id === id);
	return spec?.kind !== "worker" || spec.workers.min > 0;
}

const isOneShot = (spec: FleetSpec["agents"][number]) =>
	spec.kind === "session" && spec.onCleanExit === "complete";

function isUp(agent: { readonly process: string }): boolean {
	return agent.process === "running";
}

/** The agents to start, and the number of call agents, which start with each call. */
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

/** Scopes may overlap: the first result of an agent is the real one. */
export function firstOfEach<Item extends { readonly id: string }>(items: readonly Item[]): Item[] {
	const byId = new Map<string, Item>();
	for (const item of items) if (!byId.has(item.id)) byId.set(item.id, item);
	return [...byId.values()];
}

function printStarted(agents: readonly StartedJson[], onCall: number, output: Output): void {
	const rows = agents
		.filter(({ outcome }) => outcome !== "started" && outcome !== "already_running")
		.map((agent) => [{ text: agent.id }, startCell(agent, output), { text: agent.reason }]);
	if (rows.length > 0) {
		for (const line of renderTable(["AGENT", "OUTCOME", "REASON"], rows, output.columns))
			output.result(line);
	}
	if (agents.length + onCall === 0) {
		output.result("no agents: the fleet file defines none");
		return;
	}
	const words = agents.map(({ outcome }) => START_WORDS[outcome]);
	const ready = onCall === 0 ? [] : [`${onCall} on call`];
	const all = agents.length + onCall;
	output.result(
		`${countOf(all, "agent")}: ${[...(all > onCall ? [tally(words)] : []), ...ready].join(", ")}`,
	);
	printStartHints(agents, output);
}
