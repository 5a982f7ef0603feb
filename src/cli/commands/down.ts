/** `reeve down` and `reeve restart`: stops agents in order, and prints how each was stopped. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import type { DrainOutcome } from "../../core/events.js";
import { renderElapsed } from "../../core/units.js";
import type { AgentJson, RestartedJson, StartedJson } from "../../http/contract/agents.js";
import type { StoppedJson } from "../../http/contract/shapes.js";
import { tally } from "../agent-table.js";
import { countOf, isWithin, parseScopes, parseTimeout } from "../arguments.js";
import { connectOrStart } from "../connect-or-start.js";
import type { Cli, Output } from "../output.js";
import { listAgents, resolveScopes } from "../resolve.js";
import { isFailedStart, printStartHints, startCell, startDetail } from "../start-report.js";
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
	{ output, env }: Cli,
): Promise<number> {
	const timeoutMs = parseTimeout(options.timeout);
	const body = timeoutMs === undefined ? {} : { timeout_ms: timeoutMs };
	return stop(
		{
			command: "down",
			word: "down",
			scopes,
			options,
			output,
			env,
			print: printStopped,
			exitOf,
			request: async (client, scope) =>
				(await client.call("POST /api/v1/agents/:scope/down", { place: scope, body })).agents,
		},
		(agent) => agent.process === "stopped",
	);
}

export async function runRestart(
	scopes: readonly string[],
	options: DownOptions & { readonly fresh?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const timeoutMs = parseTimeout(options.timeout);
	const body = {
		fresh: options.fresh === true,
		...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
	};
	const since = Date.now();
	return stop(
		{
			command: "restart",
			word: "restarted",
			scopes,
			options,
			output,
			env,
			print: printRestarted,
			exitOf: exitOfStarts,
			request: async (client, scope) =>
				(await client.call("POST /api/v1/agents/:scope/restart", { place: scope, body })).agents,
		},
		({ started_at }) => started_at !== null && Date.parse(started_at) >= since,
	);
}

interface Stop<Item extends StoppedJson> {
	readonly command: string;
	readonly word: string;
	readonly scopes: readonly string[];
	readonly options: DownOptions;
	readonly output: Output;
	readonly env: NodeJS.ProcessEnv;
	readonly request: (client: Client, scope: string) => Promise<readonly Item[]>;
	readonly print: (stopped: readonly Item[], output: Output) => void;
	readonly exitOf: (stopped: readonly Item[]) => number;
}

async function stop<Item extends StoppedJson>(
	{ command, word, scopes, options, output, env, request, print, exitOf: exit }: Stop<Item>,
	isDone: (agent: AgentJson) => boolean,
): Promise<number> {
	const wanted = parseScopes(scopes, options.all, command);
	const { client } = await connectOrStart(env, output, options);
	// All scopes are looked up first, so that a typo in the last one does not leave the work half done.
	const agents = await listAgents(client, wanted);
	const lasting = selectLasting(wanted, agents, output);
	const { ids } = lasting;
	const replies = Promise.all(lasting.scopes.map((scope) => request(client, scope)));
	const stopped = firstOfEach(
		(await withProgress(replies, { ids, word, isDone }, client, output)).flat(),
	);
	if (options.json) output.json(stopped);
	else print(stopped, output);
	return exit(stopped);
}

/** The scopes with agents to stop. Those with call agents only are skipped, with a note. */
function selectLasting(
	scopes: readonly string[],
	agents: readonly AgentJson[],
	output: Output,
): { readonly scopes: readonly string[]; readonly ids: readonly string[] } {
	const ids = agents.map(({ id }) => id);
	const resolved = resolveScopes(scopes, ids, "the daemon");
	const lasting = agents.filter(
		({ id, kind }) => kind !== "call" && resolved.some((scope) => isWithin(id, scope)),
	);
	const [kept, skipped]: [string[], string[]] = [[], []];
	for (const scope of resolved) {
		const has = scope === "*" || lasting.some(({ id }) => isWithin(id, scope));
		(has ? kept : skipped).push(scope);
	}
	if (kept.length === 0 && skipped.length > 0) {
		const hint = "A call agent only runs while it serves a call. `reeve tasks ls` lists its tasks.";
		throw new ReeveError("usage", `${skipped.join(", ")} has only call agents`, hint);
	}
	for (const scope of skipped) {
		output.note(
			`${scope}: skipped, it has only call agents, which only run while they serve a call`,
		);
	}
	return { scopes: kept, ids: lasting.map(({ id }) => id) };
}

const WORDS: Readonly<Record<DrainOutcome, string>> = {
	graceful: "stopped gracefully",
	timed_out_killed: "timed out, killed",
	already_stopped: "already stopped",
	not_proven: "may still be running",
};

/** An agent that is not proven gone does not count as stopped. */
export function exitOf(stopped: readonly { readonly outcome: DrainOutcome | null }[]): number {
	const unproven = stopped.some(({ outcome }) => outcome === "not_proven");
	return unproven ? CLI_EXIT.failed : CLI_EXIT.done;
}

export function printStopped(stopped: readonly StoppedJson[], output: Output): void {
	if (stopped.length === 0) {
		output.result("no agents: nothing to do");
		return;
	}
	const paint = outcomePaint(output);
	const rows = stopped.map(({ id, outcome, duration_ms: durationMs, reason, killed }) => [
		{ text: id },
		{ text: WORDS[outcome], paint: paint(outcome) },
		{ text: outcome === "already_stopped" ? "-" : renderElapsed(durationMs) },
		{ text: reason ?? describeKilled(killed) },
	]);
	for (const line of renderTable(["AGENT", "OUTCOME", "TOOK", "REASON"], rows, output.columns))
		output.result(line);
	if (stopped.length > 1) {
		const words = stopped.map(({ outcome }) => WORDS[outcome]);
		output.result(`${countOf(stopped.length, "agent")}: ${tally(words)}`);
	}
}

interface WithStart {
	readonly outcome: DrainOutcome | null;
	readonly start: StartedJson | null;
}

/** A restart or reload that leaves an agent without its new process has failed. */
export function exitOfStarts(items: readonly WithStart[]): number {
	const failed = items.some(({ start }) => start !== null && isFailedStart(start.outcome));
	return failed ? CLI_EXIT.failed : exitOf(items);
}

function printRestarted(restarted: readonly RestartedJson[], output: Output): void {
	if (restarted.length === 0) {
		output.result("no agents: nothing to do");
		return;
	}
	const paint = outcomePaint(output);
	const rows = restarted.map(({ id, outcome, duration_ms: durationMs, reason, killed, start }) => [
		{ text: id },
		{ text: WORDS[outcome], paint: paint(outcome) },
		{ text: outcome === "already_stopped" ? "-" : renderElapsed(durationMs) },
		start === null ? { text: "not started" } : startCell(start, output),
		{ text: joinDetails(start && startDetail(start), reason ?? describeKilled(killed)) },
	]);
	const header = ["AGENT", "STOP", "TOOK", "START", "DETAIL"];
	for (const line of renderTable(header, rows, output.columns)) output.result(line);
	printStartHints(
		restarted.flatMap(({ start }) => start ?? []),
		output,
	);
}

export function joinDetails(...details: readonly (string | null)[]): string {
	return details.filter(Boolean).join("; ");
}

export function describeKilled(killed: StoppedJson["killed"]): string {
	if (killed.length === 0) return "";
	const names = killed.slice(0, 3).map(({ pid, name }) => `${name || "a process"} (pid ${pid})`);
	const more = killed.length > 3 ? ` and ${killed.length - 3} more` : "";
	return `killed ${names.join(", ")}${more}`;
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
