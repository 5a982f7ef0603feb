/** `reeve host`: the hosts that share a cluster with this one. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { plainLine } from "../../core/safe-text.js";
import { parseDuration, renderElapsed } from "../../core/units.js";
import type { ClusterHostJson } from "../../http/contract/cluster.js";
import { invalidValue } from "../arguments.js";
import { connectOwn } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { renderTable } from "../table.js";
import { renderMemory } from "../top/words.js";

interface JsonOption {
	readonly json?: boolean;
}

export async function runHostList(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { hosts } = await connectOwn(env).client.call("GET /api/v1/cluster/hosts");
	if (options.json) {
		output.json(hosts);
		return CLI_EXIT.done;
	}
	const paints = paintsOf(output);
	const rows = hosts.map((host) => [
		{ text: host.this_host ? `${host.host} (this host)` : host.host },
		{ text: host.state, paint: paints[host.state] },
		{ text: seenAgo(host) },
		{ text: host.version },
		{ text: String(host.agents) },
		{ text: loadOf(host) },
		{ text: renderMemory(host.memory_free_bytes) },
		{ text: labelsOf(host) },
	]);
	const head = ["HOST", "STATE", "SEEN", "VERSION", "AGENTS", "LOAD", "FREE", "LABELS"];
	for (const line of renderTable(head, rows, output.columns)) output.result(line);
	return CLI_EXIT.done;
}

export async function runHostShow(
	name: string,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const host = await connectOwn(env).client.call("GET /api/v1/cluster/hosts/:host", {
		place: name,
	});
	if (options.json) {
		output.json(host);
		return CLI_EXIT.done;
	}
	const { colors } = output;
	const draining = host.draining && host.state === "silent" ? ", draining" : "";
	const lines: readonly (readonly [string, string])[] = [
		["host", host.this_host ? `${host.host} (this host)` : host.host],
		["state", `${paintsOf(output)[host.state](host.state)}${draining}`],
		["seen", seenAgo(host)],
		["joined", host.joined_at],
		["version", host.version],
		["agents", `${host.agents} running`],
		["adapters", host.adapters.join(", ") || "-"],
		["load", loadOf(host)],
		[
			"memory",
			`${renderMemory(host.memory_free_bytes)} free of ${renderMemory(host.memory_total_bytes)}`,
		],
		["labels", labelsOf(host) || "-"],
		["advertise", host.advertise ?? "-"],
	];
	// The report of a silent host may be outdated.
	if (host.state === "silent") {
		output.note(`note: ${host.host} has sent no heartbeat for ${renderElapsed(host.seen_ms_ago)}`);
	}
	for (const [key, value] of lines) {
		output.result(`${colors.dim(key.padEnd(10))} ${key === "state" ? value : plainLine(value)}`);
	}
	return CLI_EXIT.done;
}

interface DrainOptions extends JsonOption {
	readonly untilRestart?: boolean;
	readonly timeout?: string;
}

export async function runHostDrain(
	name: string,
	options: DrainOptions,
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connectOwn(env);
	const isLeaving = options.untilRestart === true;
	const timeoutMs = parseTimeout(options);
	const host = await client.call("POST /api/v1/cluster/hosts/:host/drain", {
		place: name,
		body: { until_restart: isLeaving },
	});
	const left = isLeaving && host.this_host ? await waitForMoves(client, timeoutMs) : [];
	if (options.json) output.json({ ...host, left });
	else if (!isLeaving) {
		output.result(`${host.host}: draining; its ${host.agents} running agents are not affected`);
	} else if (!host.this_host) {
		output.result(`${host.host}: draining until its daemon restarts; other hosts get its agents`);
	} else {
		const rest = left.length === 0 ? "" : `; still here: ${left.join(", ")}`;
		output.result(`${host.host}: draining until its daemon restarts${rest}`);
	}
	return left.length === 0 ? CLI_EXIT.done : CLI_EXIT.failed;
}

const LOOK_EVERY_MS = 250;
const TIMEOUT_MS = 60_000;

function parseTimeout({ timeout, untilRestart }: DrainOptions): number {
	if (timeout === undefined) return TIMEOUT_MS;
	if (untilRestart !== true) {
		const message = "--timeout has no effect without --until-restart";
		throw new ReeveError("usage", message, "Add --until-restart.");
	}
	const ms = parseDuration(timeout);
	if (ms !== null && ms > 0) return ms;
	throw invalidValue("--timeout", timeout, "Use a whole number with a unit: 500ms, 10s, 5m, 1h.");
}

/** The agents that other hosts may replace and that still run here when the time is over. */
async function waitForMoves(client: Client, timeoutMs: number): Promise<readonly string[]> {
	const untilMs = performance.now() + timeoutMs;
	while (true) {
		const { agents } = await client.call("GET /api/v1/agents");
		const left = agents.filter(
			({ placement, pid, process }) =>
				placement?.on_lost === "replace" && (pid !== null || process !== "stopped"),
		);
		if (left.length === 0 || performance.now() >= untilMs) return left.map(({ id }) => id);
		await sleep(LOOK_EVERY_MS);
	}
}

export async function runHostResume(
	name: string,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const host = await connectOwn(env).client.call("POST /api/v1/cluster/hosts/:host/resume", {
		place: name,
	});
	if (options.json) output.json(host);
	else if (host.state === "silent") {
		output.result(`${host.host}: not draining, but silent: last seen ${seenAgo(host)}`);
	} else output.result(`${host.host}: not draining`);
	return CLI_EXIT.done;
}

export async function runHostRemove(
	name: string,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const { removed } = await connectOwn(env).client.call("POST /api/v1/cluster/hosts/:host/remove", {
		place: name,
	});
	if (options.json) output.json({ removed });
	else output.result(`${removed}: removed; if its daemon returns, it joins again`);
	return CLI_EXIT.done;
}

function paintsOf({ colors }: Output) {
	return { up: colors.green, draining: colors.yellow, silent: colors.red };
}

function seenAgo({ seen_ms_ago: ms }: ClusterHostJson): string {
	return `${renderElapsed(ms)} ago`;
}

function loadOf({ load, cpus }: ClusterHostJson): string {
	return `${load.toFixed(2)}/${cpus}`;
}

function labelsOf({ labels }: ClusterHostJson): string {
	return Object.entries(labels)
		.map(([name, value]) => `${name}=${value}`)
		.join(" ");
}
