/**
 * Many fake agents under one real daemon. The ledger of each agent records what happened to it, the events record how
 * Reeve reacted. The two are independent.
 */

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "../../../src/client/client.js";
import type { EventMap, EventType, ReeveEvent } from "../../../src/core/events.js";
import type { Activity } from "../../../src/core/states.js";
import { resolveHome } from "../../../src/home/paths.js";
import { lookUp } from "../../../src/host/process-identity.js";
import type { AgentDetailJson, AgentJson } from "../../../src/http/contract/agents.js";
import type { FakeAgentScript } from "../../../src/testing/fake-agent/script.js";
import { createFleetHome, eventually, type FleetHome } from "../../faults/fleet-home.js";

/** The built one: an agent is a program of its own. */
const { fakeAgentCommand } = (await import(
	new URL("../../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../../src/testing/index.js");

/** Less than a test may take, so that the failure names the condition. */
const WAIT_MS = 50_000;
const POLL_MS = 250;

/** The keys of an agent in the fleet file; its `command` is the fake agent with this script. */
export interface MatrixAgent {
	readonly adapter: string;
	readonly script?: FakeAgentScript;
	readonly [key: string]: unknown;
}

export interface LedgerLine {
	readonly at: number;
	readonly pid: number;
	readonly hook_event_name: string;
	readonly prompt?: string;
	/** The pasted text. */
	readonly text?: string;
	readonly tool_pid?: number;
	readonly last_assistant_message?: string;
}

export interface MatrixFleet extends FleetHome {
	/** `kill -9` of the daemon, exactly at the time `at`. */
	killDaemon(at?: () => Promise<void>): Promise<void>;
	/** Starts everything; agents that cannot start are not an error here. */
	up(): Promise<void>;
	agent(name: string): Promise<AgentJson>;
	detail(name: string): Promise<AgentDetailJson>;
	/** Of an agent that runs. */
	pidOf(name: string): Promise<number>;
	events(): Promise<readonly ReeveEvent[]>;
	/** The data of one agent's events of one type, oldest first. */
	data<Type extends EventType>(name: string, type: Type): Promise<readonly EventMap[Type][]>;
	ledgerOf(name: string): readonly LedgerLine[];
	/** The prompts that an agent has accepted, in all of its runs. */
	prompts(name: string): readonly string[];
	send(name: string, text: string): Promise<void>;
	/** The operator at its keyboard. */
	type(name: string, keys: string): Promise<void>;
	down(name: string): Promise<string>;
	/** Waits until an agent is known to do this. */
	shows(name: string, activity: Activity): Promise<void>;
	isReady(...names: readonly string[]): Promise<void>;
}

/** Waits for slow conditions: polling more often would only slow down the daemon. */
export function until(
	holds: () => Promise<boolean> | boolean,
	what: string,
	withinMs = WAIT_MS,
): Promise<void> {
	return eventually(holds, what, withinMs, POLL_MS);
}

export function createMatrixFleet(
	describeAgents: (folder: string) => Readonly<Record<string, MatrixAgent>>,
	adapters: object = {},
): MatrixFleet {
	const fleet = createFleetHome();
	const { folder } = fleet;
	const ledgerPath = (name: string) => join(folder, `${name}.ledger.jsonl`);
	const written = Object.entries(describeAgents(folder)).map(([name, { script, ...keys }]) => {
		const command = fakeAgentCommand({
			ledger: ledgerPath(name),
			transcript: "{home}/.claude/projects/x/{id}.jsonl",
			...script,
		});
		return [name, { command, ...keys }];
	});
	const projects = { p: { agents: Object.fromEntries(written) } };
	const file = { version: 1, adapters, defaults: { backend: "pty" }, projects };
	writeFileSync(join(folder, "reeve.yaml"), JSON.stringify(file));

	const client = createClient({ socketPath: resolveHome(fleet.env).socket });
	const place = (name: string) => ({ place: `p:${name}` });
	const detail = (name: string) => client.call("GET /api/v1/agents/:id", place(name));
	const events = async () => {
		const reported: ReeveEvent[] = [];
		for await (const event of client.events({ after: 0, follow: false })) reported.push(event);
		return reported;
	};
	const ledgerOf = (name: string) => readLedger(ledgerPath(name));
	const daemonPid = async () => (await client.call("GET /api/v1/daemon")).pid;
	const killDaemon = async (at = async () => {}) => {
		const pid = await daemonPid();
		await at();
		process.kill(pid, "SIGKILL");
		await until(() => isGone(pid), "the daemon is gone");
	};
	const shows = async (name: string, activity: Activity) => {
		const is = async () => (await detail(name)).activity === activity;
		await until(is, `${name} is ${activity}`).catch(async (error: Error) => {
			const screen = await client.call("GET /api/v1/agents/:id/screen", place(name));
			const { reason, activity: now } = await detail(name);
			throw new Error(`${error.message}; it is ${now} (${reason}): ${JSON.stringify(screen)}`);
		});
	};
	return {
		...{ ...fleet, detail, events, ledgerOf, agent: detail },
		async pidOf(name) {
			const { pid } = await detail(name);
			// Never signal pid 0: that would reach the test itself.
			if (pid === null) throw new Error(`${name} does not run`);
			return pid;
		},
		...{ daemonPid, killDaemon },
		async close() {
			// A test that failed may have left its agents without a daemon.
			await daemonPid().catch(() => fleet.reeve("daemon", "start"));
			await fleet.reeve("daemon", "stop", "--all");
			rmSync(folder, { recursive: true, force: true });
		},
		async up() {
			await fleet.reeve("up");
		},
		async data<Type extends EventType>(name: string, type: Type) {
			const ofIt = (await events()).filter((e) => e.agent === `p:${name}` && e.type === type);
			return ofIt.map((event) => event.data as EventMap[Type]);
		},
		prompts: (name) => ledgerOf(name).flatMap(({ prompt }) => prompt ?? []),
		async send(name, text) {
			await client.call("POST /api/v1/agents/:id/send", { ...place(name), body: { text } });
		},
		async type(name, text) {
			const body = { text, submit: false };
			await client.call("POST /api/v1/agents/:id/send", { ...place(name), body });
		},
		async down(name) {
			const { agents } = await client.call("POST /api/v1/agents/:scope/down", place(name));
			return agents[0]?.outcome ?? "";
		},
		async isReady(...names) {
			for (const name of names) await shows(name, "ready");
		},
		shows,
	};
}

function isGone(pid: number): boolean {
	const found = lookUp(pid);
	return found === "none" || (typeof found === "object" && found.ended);
}

function readLedger(path: string): readonly LedgerLine[] {
	if (!existsSync(path)) return [];
	// The last line may not be written to its end.
	const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
	return lines.map((line) => JSON.parse(line) as LedgerLine);
}
