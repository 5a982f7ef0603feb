/**
 * Agents that several hosts could run: real daemons and a real PostgreSQL, with hosts that are killed, frozen and cut
 * off. The oracle is the agents' shared ledger: a process that finds another of its name alive writes `DUPLICATE`.
 *
 * REEVE_LEASE_AGENTS and REEVE_LEASE_ROUNDS run it for longer, REEVE_LEASE_SEED repeats a run.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createRandom } from "../../src/testing/random.js";
import { killStrays } from "../support/kill-strays.js";
import { describeWithPostgres } from "../support/needs.js";
import { temporaryFolder } from "../support/reeve.js";
import { eventually } from "./fleet-home.js";
import { alive, createCluster, type Host, ledgerOf, runningOn } from "./lease-hosts.js";

const LEASE_MS = 6_000;

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

	test("a host that is drained before a restart gives its agents to others, and gets some again afterwards", {
		timeout: 480_000,
	}, async () => {
		const shared = temporaryFolder();
		const agents = ["a0", "a1", "a2"];
		const { hosts } = await createCluster({ agents, shared, onLost: "replace" });
		const spread = () => runningOn(hosts);
		await eventually(async () => (await spread()).size === 3, "all agents run");
		const name = (await spread()).get("a0");
		const [leaving] = hosts.filter((host) => host.name === name) as [Host, ...Host[]];
		const drained = await leaving.home.must("host", "drain", leaving.name, "--until-restart");
		expect(drained).toContain("draining until its daemon restarts");
		expect([...(await spread()).values()]).not.toContain(leaving.name);
		await eventually(async () => (await spread()).size === 3, "the others run all agents");
		expect([...(await spread()).values()]).not.toContain(leaving.name);
		const list = await leaving.home.must("host", "ls");
		expect(list).toMatch(new RegExp(`^${leaving.name} .* draining`, "m"));
		await leaving.home.must("daemon", "restart");
		await eventually(
			async () => /this host\) +up /.test((await leaving.home.reeve("host", "ls")).stdout),
			"the next daemon is not draining",
		);
		expect(ledgerOf(shared).filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
	});
});
