/** `reeve down` and `reeve restart`: ends agents in order, and says how each ended. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import type { DrainOutcome } from "../../core/events.js";
import { renderElapsed } from "../../core/units.js";
import type { AgentJson } from "../../http/contract/agents.js";
import type { StoppedJson } from "../../http/contract/shapes.js";
import { tally } from "../agent-table.js";
import { countOf, isWithin, parseScopes, parseTimeout, selectIds } from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { renderTable } from "../table.js";
import { withProgress } from "../watch-progress.js";
import { firstOfEach } from "./up.js";

export interface DownOptions {
	readonly all?: boolean;
	readonly timeout?: string;
	readonly json?: boolean;
}

export async function runDown(
	scopes: readonly string[],
	options: DownOptions,
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const timeoutMs = parseTimeout(options.timeout);
	const body = timeoutMs === undefined ? {} : { timeout_ms: timeoutMs };
	return stop(
		{
			...{ command: "down", word: "down", scopes, options, output, env },
			request: async (client, scope) =>
				(await client.call("POST /api/v1/agents/:scope/down", { place: scope, body })).agents,
		},
		(agent) => agent.process === "stopped",
	);
}

export async function runRestart(
	scopes: readonly string[],
	options: DownOptions & { readonly fresh?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const timeoutMs = parseTimeout(options.timeout);
	const body = {
		fresh: options.fresh === true,
		...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
	};
	const since = Date.now();
	return stop(
		{
			...{ command: "restart", word: "restarted", scopes, options, output, env },
			request: async (client, scope) =>
				(await client.call("POST /api/v1/agents/:scope/restart", { place: scope, body })).agents,
		},
		({ started_at }) => started_at !== null && Date.parse(started_at) >= since,
	);
}

interface Stop {
	readonly command: string;
	readonly word: string;
	readonly scopes: readonly string[];
	readonly options: DownOptions;
	readonly output: Output;
	readonly env: NodeJS.ProcessEnv;
	readonly request: (client: Client, scope: string) => Promise<readonly StoppedJson[]>;
}

async function stop(
	{ command, word, scopes, options, output, env, request }: Stop,
	isDone: (agent: AgentJson) => boolean,
): Promise<number> {
	const wanted = parseScopes(scopes, options.all, command);
	const { client } = connect(env);
	// All scopes are looked up first: a slip in the last one must not be found when half is done.
	const ids = selectLasting(wanted, (await client.call("GET /api/v1/agents")).agents);
	const replies = Promise.all(wanted.map((scope) => request(client, scope)));
	const stopped = firstOfEach(
		(await withProgress(replies, { ids, word, isDone }, client, output)).flat(),
	);
	if (options.json) output.json(stopped);
	else tellStopped(stopped, output);
	return exitOf(stopped);
}

function selectLasting(scopes: readonly string[], agents: readonly AgentJson[]): readonly string[] {
	const ids = agents.map(({ id }) => id);
	const chosen = new Set(selectIds(scopes, ids, "the daemon"));
	const lasting = agents.filter(({ id, kind }) => chosen.has(id) && kind !== "call");
	for (const scope of scopes) {
		if (scope === "*" || lasting.some(({ id }) => isWithin(id, scope))) continue;
		const hint = "A call agent runs only while it is called.";
		throw new ReeveError("usage", `nothing in ${scope} stays running`, hint);
	}
	return lasting.map(({ id }) => id);
}

const WORDS: Readonly<Record<DrainOutcome, string>> = {
	graceful: "ended gracefully",
	timed_out_killed: "timed out, killed",
	already_stopped: "already stopped",
	not_proven: "not proven",
};

/** What cannot be shown to have ended has not been stopped. */
export function exitOf(stopped: readonly { readonly outcome: DrainOutcome | null }[]): number {
	const unproven = stopped.some(({ outcome }) => outcome === "not_proven");
	return unproven ? CLI_EXIT.failed : CLI_EXIT.done;
}

export function tellStopped(stopped: readonly StoppedJson[], output: Output): void {
	if (stopped.length === 0) {
		output.result("no agents: nothing to do");
		return;
	}
	const paint = outcomePaint(output);
	const rows = stopped.map(({ id, outcome, duration_ms: durationMs, reason }) => [
		{ text: id },
		{ text: WORDS[outcome], paint: paint(outcome) },
		{ text: outcome === "already_stopped" ? "-" : renderElapsed(durationMs) },
		{ text: reason ?? "" },
	]);
	for (const line of renderTable(["AGENT", "OUTCOME", "TOOK", "REASON"], rows, output.columns))
		output.result(line);
	if (stopped.length > 1) {
		const words = stopped.map(({ outcome }) => WORDS[outcome]);
		output.result(`${countOf(stopped.length, "agent")}: ${tally(words)}`);
	}
}

export function outcomePaint({
	colors,
}: Output): (outcome: DrainOutcome) => (text: string) => string {
	const paints = {
		graceful: colors.green,
		timed_out_killed: colors.yellow,
		already_stopped: colors.dim,
		not_proven: colors.red,
	};
	return (outcome) => paints[outcome];
}

export function outcomeWords(outcome: DrainOutcome): string {
	return WORDS[outcome];
}
