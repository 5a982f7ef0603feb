/**
 * `reeve up --wait`: waits until every agent is ready or has completed. Fails with the reason as soon as
 * one of them cannot get there without a person, or when the time is up. A daemon that restarts meanwhile is waited for.
 */

import type { Client } from "../client/client.js";
import { CLI_EXIT } from "../core/cli-exit.js";
import { ReeveError } from "../core/errors.js";
import { parseDuration, renderDuration, renderElapsed } from "../core/units.js";
import type { AgentJson } from "../http/contract/agents.js";
import { countOf, invalidValue } from "./arguments.js";
import type { Output } from "./output.js";

const POLL_MS = 250;
const TIMEOUT_MS = 300_000;

/** As long as streams wait for a daemon that is away. */
const AWAY_MS_MAX = 60_000;
const AWAY: ReadonlySet<string> = new Set(["connection_lost", "no_daemon", "not_ready"]);

/** States that an agent does not leave without a person, or not before the next day. */
const FINAL: ReadonlySet<string> = new Set([
	"halted",
	"login_lost",
	"ended",
	"stopped",
	"over_budget",
]);

export function parseWaitTimeout(options: {
	readonly wait?: boolean;
	readonly timeout?: string;
}): number {
	if (options.timeout === undefined) return TIMEOUT_MS;
	if (options.wait !== true) {
		throw new ReeveError("usage", "--timeout has no effect without --wait", "Add --wait.");
	}
	const ms = parseDuration(options.timeout);
	if (ms !== null && ms > 0) return ms;
	const hint = "Use a whole number with a unit: 500ms, 10s, 5m, 1h.";
	throw invalidValue("--timeout", options.timeout, hint);
}

interface Waited {
	readonly ids: readonly string[];
	/** Those that are meant to finish: being ready is not enough. */
	readonly finishing: ReadonlySet<string>;
	readonly timeoutMs: number;
}

/** The exit code of the command. */
export function waitUntilUp(
	waited: Waited,
	client: Client,
	output: Output,
	isJson: boolean,
): Promise<number> {
	return poll(waited, client, output, isJson).finally(() => output.progress?.(null));
}

async function poll(
	{ ids, finishing, timeoutMs }: Waited,
	client: Client,
	output: Output,
	isJson: boolean,
): Promise<number> {
	const sinceMs = performance.now();
	const wanted = new Set(ids);
	for (;;) {
		const agents = await readAgents(client, output, sinceMs + timeoutMs);
		const seen = agents.filter(({ id }) => wanted.has(id));
		const open = seen.filter((agent) => !isThere(agent, finishing.has(agent.id)));
		const removed = ids.find((id) => !seen.some((agent) => agent.id === id));
		const why = removed === undefined ? firstProblem(open) : `${removed} was removed`;
		if (why !== null) throw failed(why);
		const waitedMs = performance.now() - sinceMs;
		if (open.length === 0) {
			const done = seen.filter(({ status }) => status.state === "completed").length;
			const words = done === 0 ? "ready" : `ready or completed (${done} completed)`;
			if (!isJson) {
				output.note(`${countOf(seen.length, "agent")} ${words} after ${renderElapsed(waitedMs)}`);
			}
			return CLI_EXIT.done;
		}
		output.progress?.(`${seen.length - open.length}/${seen.length} ready`);
		if (waitedMs >= timeoutMs) {
			const names = open.map((agent) => `${agent.id} (${whyNotThere(agent)})`).join("; ");
			throw failed(`not ready after ${renderDuration(timeoutMs)}: ${names}`);
		}
		await new Promise((resolve) => setTimeout(resolve, POLL_MS));
	}
}

/** Throws if the daemon is away for too long, or refuses. */
async function readAgents(
	client: Client,
	output: Output,
	untilMs: number,
): Promise<readonly AgentJson[]> {
	let lostAtMs: number | null = null;
	for (;;) {
		try {
			const { agents } = await client.call("GET /api/v1/agents");
			if (lostAtMs !== null) {
				output.note(`reconnected after ${renderElapsed(performance.now() - lostAtMs)}`);
			}
			return agents;
		} catch (error) {
			if (!(error instanceof ReeveError && AWAY.has(error.code))) throw error;
			const nowMs = performance.now();
			if (lostAtMs === null) {
				const forMs = Math.max(0, Math.min(AWAY_MS_MAX, untilMs - nowMs));
				output.note(`${error.message}; reconnecting for up to ${renderElapsed(forMs)}`);
			}
			lostAtMs ??= nowMs;
			if (nowMs - lostAtMs >= AWAY_MS_MAX || nowMs >= untilMs) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, POLL_MS));
	}
}

function isThere({ ready, process, status }: AgentJson, mustFinish: boolean): boolean {
	return (!mustFinish && process === "running" && ready) || status.state === "completed";
}

function whyNotThere({ process, ready, reason }: AgentJson): string {
	return process === "running" && !ready ? "its `ready` condition is not met" : reason;
}

function firstProblem(open: readonly AgentJson[]): string | null {
	const stuck = open.find(({ status }) => FINAL.has(status.state));
	if (stuck !== undefined) return `${stuck.id} is ${stuck.status.state}: ${stuck.reason}`;
	const blocked = open.find((agent) => agent.blocked !== null);
	return blocked === undefined ? null : `${blocked.id} cannot start: ${blocked.blocked}`;
}

function failed(why: string): ReeveError {
	return new ReeveError("wait_failed", why, "`reeve explain AGENT` shows what happened.");
}
