/**
 * Agents that several hosts could run: real daemons and a real PostgreSQL, with hosts that are killed, frozen and cut
 * off. The oracle is the agents' shared ledger: a process that finds another of its name alive writes `DUPLICATE`.
 *
 * REEVE_LEASE_AGENTS and REEVE_LEASE_ROUNDS run it for longer, REEVE_LEASE_SEED repeats a run.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createRandom } from "../../src/testing/random.js";
import { killStrays } from "../support/kill-strays.js";
import { describeWithPostgres } from "../support/needs.js";
import { type NetworkProxy, startProxy } from "../support/network-proxy.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { temporaryFolder } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

const LEASE_MS = 6_000;
const HOSTS = ["one", "two", "three"];

interface Host {
	readonly name: string;
	readonly home: FleetHome;
	readonly network: NetworkProxy;
}

interface ClusterOptions {
	readonly agents: readonly string[];
	readonly shared: string;
	readonly onLost: string;
}

async function createHost(name: string, postgres: TestPostgres, options: ClusterOptions) {
	const { agents, shared, onLost } = options;
	const home = createFleetHome();
	onTestFinished(() => home.close());
	const network = await startProxy(postgres.port);
	const placement = `, placement: { on_lost: ${onLost}, lease: 6s }, drain: { timeout: 1s }`;
	home.writeFleet(agents.map((agent) => lockedAgent(shared, agent, placement)).join("\n"));
	const database = postgres.url().replace(String(postgres.port), String(network.port));
	await home.must("daemon", "start");
	const settings = join(home.env["REEVE_HOME"] ?? "", "daemon.json");
	writeFileSync(settings, JSON.stringify({ cluster: { database, host: name } }));
	await home.must("daemon", "reload");
	await home.must("up");
	return { name, home, network };
}

async function createCluster(options: ClusterOptions) {
	const postgres = await startPostgres();
	onTestFinished(() => postgres.stop());
	const hosts: Host[] = [];
	for (const name of HOSTS) hosts.push(await createHost(name, postgres, options));
	return { postgres, hosts };
}

const ledgerOf = (shared: string) => {
	try {
		return readFileSync(join(shared, "ledger"), "utf8").trim().split("\n");
	} catch {
		return [];
	}
};

/** The agents with a live process, according to the ledger alone. */
function alive(shared: string): readonly string[] {
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
async function runningOn(hosts: readonly Host[]): Promise<ReadonlyMap<string, string>> {
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

const FAULTS = ["daemon killed", "host killed", "daemon frozen", "network cut", "network frozen"];

/** Returns a function that ends the fault. */
async function cause(fault: string, { home, network }: Host): Promise<() => Promise<void>> {
	switch (fault) {
		case "daemon killed":
			process.kill(await home.daemonPid(), "SIGKILL");
			return async () => void (await home.reeve("daemon", "start"));
		case "host killed":
			killStrays(home.folder);
			return async () => void (await home.reeve("daemon", "start"));
		case "daemon frozen": {
			const pid = await home.daemonPid();
			process.kill(pid, "SIGSTOP");
			return async () => void process.kill(pid, "SIGCONT");
		}
		default:
			network.set(fault === "network cut" ? "cut" : "frozen");
			return async () => network.set("open");
	}
}

describeWithPostgres("agents that several hosts could run", () => {
	const count = Number(process.env["REEVE_LEASE_AGENTS"] ?? 4);
	const rounds = Number(process.env["REEVE_LEASE_ROUNDS"] ?? FAULTS.length);
	const seed = Number(process.env["REEVE_LEASE_SEED"] ?? 1);

	test("S1: never run twice with `replace`, whatever happens to their hosts, and run again after each fault", {
		timeout: 120_000 + rounds * 120_000,
	}, async () => {
		const shared = temporaryFolder();
		const agents = Array.from({ length: count }, (_, index) => `a${index}`);
		const { hosts } = await createCluster({ agents, shared, onLost: "replace" });
		const random = createRandom(seed);
		const takeovers: number[] = [];
		const allRun = () => new Set(alive(shared)).size === count;
		await eventually(allRun, "all agents run somewhere");
		for (let round = 0; round < rounds; round++) {
			const fault = FAULTS[round % FAULTS.length] ?? "";
			const victim = random.pick(hosts as [Host, ...Host[]]);
			const others = hosts.filter((host) => host !== victim);
			const heal = await cause(fault, victim);
			const sinceMs = performance.now();
			// Until every agent runs on a host that is well; some rounds heal before the lease is over.
			if (random.chance(0.7)) {
				await eventually(
					async () => (await runningOn(others)).size === count && allRun(),
					`round ${round}, ${fault} of ${victim.name}: the others run all agents`,
					120_000,
					200,
				);
				takeovers.push(performance.now() - sinceMs);
			} else await sleep(random.int(0, LEASE_MS));
			await heal();
			await eventually(
				async () => (await runningOn(hosts)).size === count && allRun(),
				`round ${round}, after ${fault} of ${victim.name}: all agents run`,
				120_000,
				200,
			);
			const twice = ledgerOf(shared).filter((line) => line.startsWith("DUPLICATE"));
			expect({ round, fault, twice }).toEqual({ round, fault, twice: [] });
			const all = alive(shared);
			expect(all.toSorted()).toEqual([...new Set(all)].toSorted());
		}
		const worst = Math.round(Math.max(0, ...takeovers));
		console.log(`${rounds} rounds, ${takeovers.length} takeovers, the longest ${worst} ms`);
	});

	test("with `ask`, an operator decides whether another host replaces an agent whose host is lost", {
		timeout: 480_000,
	}, async () => {
		const shared = temporaryFolder();
		const { hosts } = await createCluster({ agents: ["a0"], shared, onLost: "ask" });
		const find = async (): Promise<readonly [Host, Host[]]> => {
			await eventually(async () => (await runningOn(hosts)).size === 1, "the agent runs");
			const name = (await runningOn(hosts)).get("a0");
			const holder = hosts.find((host) => host.name === name);
			if (holder === undefined) throw new Error("it runs nowhere");
			return [holder, hosts.filter((host) => host !== holder)];
		};
		const asks = async ({ home }: Host) => {
			const [agent] = await home.ps();
			return agent?.status.state === "asks_you" && agent.question?.kind === "lost_host";
		};
		const everyAsks = (others: readonly Host[], expected: boolean) =>
			eventually(
				async () => (await Promise.all(others.map(asks))).every((each) => each === expected),
				`all other hosts ask: ${expected}`,
				120_000,
				200,
			);
		const notices = async (others: readonly Host[]) =>
			(
				await Promise.all(others.map(({ home }) => home.must("events", "--type", "agent.asks")))
			).flatMap((text) => text.match(/agent\.asks/g) ?? []).length;

		const [first, others] = await find();
		const heal = await cause("host killed", first);
		await everyAsks(others, true);
		expect(await notices(others)).toBe(1);
		const [one, two] = others as [Host, Host];
		expect(await one.home.must("answer", "p:a0")).toContain(`Wait for ${first.name}`);
		await one.home.must("answer", "p:a0", "wait");
		await everyAsks(others, false);
		expect((await runningOn(others)).size).toBe(0);
		expect((await one.home.ps())[0]?.status.why).toContain(`reeve host remove ${first.name}`);
		await heal();
		// It has come back, and another loss is another question.
		const [second] = await find();
		expect(second.name).toBe(first.name);
		const healAgain = await cause("host killed", first);
		await everyAsks(others, true);
		await two.home.must("answer", "p:a0", "replace");
		await eventually(
			async () => (await runningOn(others)).size === 1,
			"another host replaces it",
			120_000,
			200,
		);
		await everyAsks(others, false);
		await healAgain();
		await eventually(async () => (await runningOn(hosts)).size === 1, "it runs once");
		expect(ledgerOf(shared).filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
		expect(alive(shared)).toEqual(["a0"]);
	});

	test("`down` without the database outlives the daemon that accepted it, and stops the agent on its host", {
		timeout: 480_000,
	}, async () => {
		const shared = temporaryFolder();
		const { hosts } = await createCluster({ agents: ["a0"], shared, onLost: "keep" });
		await eventually(async () => (await runningOn(hosts)).size === 1, "the agent runs");
		const name = (await runningOn(hosts)).get("a0");
		const [other] = hosts.filter((host) => host.name !== name) as [Host, ...Host[]];
		other.network.set("cut");
		await eventually(
			async () => (await other.home.reeve("host", "ls")).code !== 0,
			"the host is cut off",
		);
		await other.home.must("down", "p:a0");
		await other.home.killDaemon();
		expect((await runningOn(hosts)).get("a0")).toBe(name);
		other.network.set("open");
		await other.home.must("daemon", "start");
		await eventually(
			async () => (await runningOn(hosts)).size === 0 && alive(shared).length === 0,
			"the agent is stopped where it runs",
			120_000,
			200,
		);
	});
});
