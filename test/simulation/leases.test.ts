/**
 * The leases of three hosts over a database in memory, in simulated time: hosts that die, freeze and are suspended,
 * daemons that die alone, networks that delay, lose and cut, and a database whose clock is set. A shim ends its run at
 * the deadline that it got last. REEVE_LEASE_SEEDS runs more seeds, REEVE_LEASE_SEED only one.
 */

import { expect, test } from "vitest";
import { createHostLeases, type HostLeases } from "../../src/cluster/leases.js";
import type { ClusterHost, Member } from "../../src/core/cluster.js";
import type { Deadline } from "../../src/ports/backend.js";
import type { LeaseTable, PlacedAgent } from "../../src/ports/leases.js";
import { createRandom, type SeededRandom } from "../../src/testing/random.js";
import { createMemoryLeases } from "../support/memory-leases.js";

const AGENTS = ["p:a", "p:b", "p:c"];
const STEP_MS = 100;
const FAULTS_MS = 90_000;
const QUIET_MS = 60_000;
const ANSWER_MS_MAX = 4_000;
const LEASE_MS = 6_000;

/** A planted mistake that the simulation must find. */
type Plant = "none" | "no deadline" | "clock stops" | "only the database's clock";

interface Run {
	deadline: Deadline | null;
	/** When it is gone; null while nothing ends it. */
	endsAtMs: number | null;
	/** Its shim has begun to end it. */
	isOver: boolean;
}

interface Task {
	readonly atMs: number;
	readonly daemon: object | null;
	readonly run: () => void;
}

class Host {
	readonly name: string;
	/** How fast its clock runs. */
	readonly rate: number;
	readonly offsetMs: number;
	readonly runs = new Map<string, Run>();
	readonly leases: { current: HostLeases | null } = { current: null };
	daemon: { readonly boot: string; readonly over: AbortController } | null = null;
	frozenUntilMs = 0;
	suspendedUntilMs = 0;
	cutUntilMs = 0;
	deadUntilMs = 0;
	suspendedMs = 0;
	seenAtMs = 0;
	joined: Member | null = null;

	constructor(name: string, rate: number, offsetMs: number) {
		this.name = name;
		this.rate = rate;
		this.offsetMs = offsetMs;
	}
}

class World {
	readonly random: SeededRandom;
	readonly plant: Plant;
	nowMs = 1_000_000;
	/** There are no further faults, and the network is well. */
	isQuiet = false;
	#databaseStepMs = 0;
	#tasks: Task[] = [];
	readonly hosts: readonly Host[];
	readonly table: LeaseTable;
	readonly problems: string[] = [];
	#boots = 0;

	constructor(random: SeededRandom, plant: Plant) {
		this.random = random;
		this.plant = plant;
		this.hosts = ["one", "two", "three"].map(
			(name) => new Host(name, 0.999 + 0.002 * random.next(), random.int(0, 1_000_000)),
		);
		this.table = createMemoryLeases({
			nowMs: () => this.nowMs + this.#databaseStepMs,
			hosts: () => this.hosts.flatMap((host) => this.#rowOf(host)),
		});
	}

	#rowOf({ joined, seenAtMs }: Host): ClusterHost[] {
		if (joined === null) return [];
		const facts = { version: "1.0.0", labels: {}, advertise: null, adapters: [], cpus: 2, load: 0 };
		const memory = { memoryTotalBytes: 1, memoryFreeBytes: 1, agents: 0 };
		const ageMs = this.nowMs - seenAtMs;
		return [{ ...joined, ...facts, ...memory, draining: false, joinedAtMs: 0, ageMs }];
	}

	bootMs({ rate, offsetMs, suspendedMs }: Host): number {
		const stopped = this.plant === "clock stops" ? suspendedMs : 0;
		return offsetMs + (this.nowMs - stopped) * rate;
	}

	isStopped({ suspendedUntilMs, deadUntilMs }: Host): boolean {
		return this.nowMs < Math.max(suspendedUntilMs, deadUntilMs);
	}

	/** A task of a daemon waits while that is frozen, and is dropped when that is dead. */
	in(ms: number, host: Host | null, run: () => void): () => void {
		const task = { atMs: this.nowMs + ms, daemon: host?.daemon ?? null, run };
		this.#tasks.push(task);
		return () => {
			this.#tasks = this.#tasks.filter((each) => each !== task);
		};
	}

	async step(): Promise<void> {
		this.nowMs += STEP_MS;
		for (const host of this.hosts) {
			if (this.nowMs < host.suspendedUntilMs) host.suspendedMs += STEP_MS;
			this.#runShims(host);
			this.#runDaemon(host);
		}
		const due = this.#tasks.filter(({ atMs }) => atMs <= this.nowMs);
		for (const task of due.sort((a, b) => a.atMs - b.atMs)) {
			const host = this.hosts.find(({ daemon }) => daemon === task.daemon);
			if (task.daemon !== null && host === undefined) this.#drop(task);
			else if (host === undefined || !this.#isFrozen(host)) {
				this.#drop(task);
				task.run();
				await settle();
			}
		}
		for (const agent of AGENTS) {
			const on = this.hosts.filter((host) => host.runs.has(agent) && !this.isStopped(host));
			if (on.length > 1) this.problems.push(`${agent} on ${on.map(({ name }) => name).join()}`);
		}
	}

	#drop(task: Task): void {
		this.#tasks = this.#tasks.filter((each) => each !== task);
	}

	#isFrozen(host: Host): boolean {
		return this.nowMs < host.frozenUntilMs || this.isStopped(host);
	}

	#runShims(host: Host): void {
		if (this.isStopped(host)) return;
		for (const [agent, run] of host.runs) {
			const { deadline } = run;
			const bootMs = this.bootMs(host);
			if (deadline !== null && !run.isOver && bootMs >= deadline.atBootMs) {
				run.isOver = true;
				const endsAtMs = this.nowMs + this.random.int(0, deadline.graceMs + 500);
				run.endsAtMs = Math.min(run.endsAtMs ?? endsAtMs, endsAtMs);
				// The host was suspended beyond its lease: the kill follows the first moment.
				if (bootMs >= deadline.atBootMs + deadline.graceMs) run.endsAtMs = this.nowMs;
			}
			if (run.endsAtMs !== null && this.nowMs >= run.endsAtMs) host.runs.delete(agent);
		}
	}

	#runDaemon(host: Host): void {
		if (this.#isFrozen(host)) return;
		if (host.daemon === null) this.#startDaemon(host);
		if (this.nowMs >= host.cutUntilMs) {
			host.seenAtMs = this.nowMs;
			const boot = host.daemon?.boot ?? "";
			host.joined = { host: host.name, home: `home-${host.name}`, boot };
		}
		for (const agent of AGENTS) {
			if (host.runs.has(agent) || host.leases.current?.isHeld(agent) !== true) continue;
			// The gate has admitted it; the daemon may freeze before the start is sent.
			if (!this.random.chance(0.5)) continue;
			const deadline = host.leases.current.deadline(agent);
			this.in(this.random.int(0, 300), host, () => this.#startRun(host, agent, deadline));
		}
	}

	#startRun(host: Host, agent: string, deadline: Deadline | null): void {
		if (host.runs.has(agent) || host.leases.current?.isHeld(agent) !== true) return;
		// The shim refuses a start that comes too late.
		if (deadline !== null && this.bootMs(host) >= deadline.atBootMs) return;
		const kept = this.plant === "no deadline" ? null : deadline;
		host.runs.set(agent, { deadline: kept, endsAtMs: null, isOver: false });
	}

	#startDaemon(host: Host): void {
		const boot = `boot-${++this.#boots}`;
		const member = { host: host.name, home: `home-${host.name}`, boot };
		const over = new AbortController();
		host.daemon = { boot, over };
		const leases = createHostLeases({
			bootMs: () => this.bootMs(host),
			steadyMs: () => 0,
			wallMs: () => 0,
			unavailable: () => null,
			note: () => {},
			random: () => this.random.next(),
			sleep: (ms, signal) =>
				new Promise((resolve) => {
					const cancel = this.in(ms, host, resolve);
					signal.addEventListener("abort", () => {
						cancel();
						resolve();
					});
				}),
			every: (ms, run) => {
				let cancel = () => {};
				const again = () => {
					cancel = this.in(ms, host, () => {
						run();
						again();
					});
				};
				again();
				return () => cancel();
			},
		});
		host.leases.current = leases;
		leases.attach({
			placed: () => AGENTS.map((id) => ({ agent: placed(id), isUp: true })),
			isGone: (id) => !host.runs.has(id),
			gained() {},
			asks() {},
			asksNoMore() {},
			announced() {},
			lost: (id, graceMs) => {
				const run = host.runs.get(id);
				if (run !== undefined) run.endsAtMs ??= this.nowMs + this.random.int(0, graceMs + 300);
			},
			extended: (id, deadline) => {
				const run = host.runs.get(id);
				if (run !== undefined && !run.isOver && this.plant !== "no deadline") {
					run.deadline = deadline;
				}
			},
		});
		void leases.run(member, this.#network(host), over.signal);
	}

	/** Each request and each answer is delayed or lost. The database may act although its answer is lost. */
	#network(host: Host): LeaseTable {
		const send = <T>(act: () => Promise<T>) =>
			new Promise<T>((resolve, reject) => {
				const { daemon } = host;
				let isAnswered = false;
				const isCut = () =>
					this.nowMs < host.cutUntilMs || (!this.isQuiet && this.random.chance(0.01));
				this.in(ANSWER_MS_MAX, host, () => {
					if (!isAnswered) reject(new Error("no answer"));
				});
				this.in(this.#delayMs(), null, () => {
					if (isCut()) return;
					act().then((value) => {
						if (host.daemon !== daemon || isCut()) return;
						this.in(this.#delayMs(), host, () => {
							isAnswered = true;
							resolve(value);
						});
					}, reject);
				});
			});
		const { table } = this;
		const blind = this.plant === "only the database's clock";
		return {
			offer: async (member, agents) => {
				const leases = await send(() => table.offer(member, agents));
				// As if nothing had been seen before its expiry.
				return blind ? leases.map((lease) => ({ ...lease, leaseMs: 0 })) : leases;
			},
			renew: (member, held) => send(() => table.renew(member, held)),
			claim: (member, leases) => send(() => table.claim(member, leases)),
			release: (member, lease) => send(() => table.release(member, lease)),
			ask: (lease) => send(() => table.ask(lease)),
			answer: (lease, answer) => send(() => table.answer(lease, answer)),
			setWanted: (wishes, by) => send(() => table.setWanted(wishes, by)),
			sweep: (agents, decide) => send(() => table.sweep(agents, decide)),
		};
	}

	#delayMs(): number {
		return !this.isQuiet && this.random.chance(0.1)
			? this.random.int(0, 3_000)
			: this.random.int(0, 60);
	}

	fault(): void {
		const host = this.random.pick(this.hosts as unknown as [Host, ...Host[]]);
		const untilMs = this.nowMs + this.random.int(100, 25_000);
		const kind = this.random.int(0, 5);
		if (kind <= 1) {
			host.daemon?.over.abort();
			host.daemon = null;
			host.leases.current = null;
		}
		if (kind === 0) host.runs.clear();
		if (kind === 0) host.deadUntilMs = untilMs;
		if (kind === 1) host.frozenUntilMs = untilMs;
		if (kind === 2) host.frozenUntilMs = untilMs;
		if (kind === 3) host.suspendedUntilMs = untilMs;
		if (kind === 4) host.cutUntilMs = untilMs;
		if (kind === 5) this.#databaseStepMs += this.random.int(-20_000, 3_600_000);
	}
}

const placed = (id: string): PlacedAgent => ({
	...{ id, cli: null, drainMs: 10_000 },
	placement: { labels: {}, onLost: "replace", leaseMs: LEASE_MS },
});

/** All that the last task made possible is done. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

async function simulate(seed: number, plant: Plant = "none") {
	const world = new World(createRandom(seed), plant);
	const quietAtMs = world.nowMs + FAULTS_MS;
	while (world.nowMs < quietAtMs && world.problems.length === 0) {
		if (world.random.chance(STEP_MS / 8_000)) world.fault();
		await world.step();
	}
	world.isQuiet = true;
	while (world.nowMs < quietAtMs + QUIET_MS && world.problems.length === 0) await world.step();
	const alive = AGENTS.filter((agent) => world.hosts.some(({ runs }) => runs.has(agent)));
	return { twice: world.problems, alive };
}

const only = process.env["REEVE_LEASE_SEED"];
const count = Number(process.env["REEVE_LEASE_SEEDS"] ?? 40);
const seeds =
	only === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(only)];

test("S1: an agent never runs on two hosts at once, and runs again when the faults are over", {
	timeout: 600_000,
}, async () => {
	for (const seed of seeds) {
		expect({ seed, ...(await simulate(seed)) }).toEqual({ seed, twice: [], alive: AGENTS });
	}
});

test.each(["no deadline", "clock stops", "only the database's clock"] as const)(
	"a planted mistake is found: %s",
	{ timeout: 600_000 },
	async (plant) => {
		for (let seed = 1; seed <= 200; seed++) {
			if ((await simulate(seed, plant)).twice.length > 0) return;
		}
		throw new Error("no seed has found it");
	},
);
