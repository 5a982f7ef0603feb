/** Three real daemons that share a real PostgreSQL and run the same agents, and the agents' shared ledger. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { type NetworkProxy, startProxy } from "../support/network-proxy.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { createFleetHome, type FleetHome, lockedAgent } from "./fleet-home.js";

const HOSTS = ["one", "two", "three"];

export interface Host {
	readonly name: string;
	readonly home: FleetHome;
	readonly network: NetworkProxy;
}

interface ClusterOptions {
	readonly agents: readonly string[];
	readonly shared: string;
	readonly onLost: string;
	/** 6 s if not set. */
	readonly lease?: string;
	/** The labels of each host. */
	readonly labels?: (host: string) => Readonly<Record<string, string>>;
	/** Further agents of each host, as lines of the fleet file. */
	readonly more?: (host: string) => string;
}

async function createHost(name: string, postgres: TestPostgres, options: ClusterOptions) {
	const { agents, shared, onLost, lease = "6s", more = () => "" } = options;
	const labels = options.labels?.(name) ?? {};
	const home = createFleetHome();
	onTestFinished(() => home.close());
	const network = await startProxy(postgres.port);
	const placement = `, placement: { on_lost: ${onLost}, lease: ${lease} }, drain: { timeout: 1s }`;
	const lines = agents.map((agent) => lockedAgent(shared, agent, placement));
	home.writeFleet([...lines, more(name)].join("\n"));
	const database = postgres.url().replace(String(postgres.port), String(network.port));
	await home.must("daemon", "start");
	const settings = join(home.env["REEVE_HOME"] ?? "", "daemon.json");
	writeFileSync(settings, JSON.stringify({ cluster: { database, host: name, labels } }));
	await home.must("daemon", "reload");
	await home.must("up");
	return { name, home, network };
}

export async function createCluster(options: ClusterOptions) {
	const postgres = await startPostgres();
	onTestFinished(() => postgres.stop());
	const hosts: Host[] = [];
	for (const name of HOSTS) hosts.push(await createHost(name, postgres, options));
	return { postgres, hosts };
}

export const ledgerOf = (shared: string) => {
	try {
		return readFileSync(join(shared, "ledger"), "utf8").trim().split("\n");
	} catch {
		return [];
	}
};

/** The agents with a live process, according to the ledger alone. */
export function alive(shared: string): readonly string[] {
	const lines = ledgerOf(shared).map((line) => line.split(" "));
	const started = lines.filter(([word]) => word === "start");
	return started.flatMap(([, agent, pid]) => (agent && pid && isAlive(pid) ? [agent] : []));
}

function isAlive(pid: string): boolean {
	try {
		return !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
	} catch {
		return false;
	}
}

/** Where each agent runs, as the hosts that answer report it. */
export async function runningOn(hosts: readonly Host[]): Promise<ReadonlyMap<string, string>> {
	const found = new Map<string, string>();
	for (const { name, home } of hosts) {
		const { code, stdout } = await home.reeve("ps", "--json");
		if (code !== 0) continue;
		for (const agent of JSON.parse(stdout) as AgentJson[]) {
			if (agent.process === "running") found.set(agent.agent, name);
		}
	}
	return found;
}
