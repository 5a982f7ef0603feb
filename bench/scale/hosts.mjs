/**
 * Simulated hosts of a cluster, in one process: the membership, the leases and the shared limits of the daemon, on the
 * real database. Their agents are entries of a set. Controlled by messages of `bench/scale.mjs`.
 */

import { setTimeout as sleep } from "node:timers/promises";

/** @param {string} name Below `src`. */
const build = (name) => import(new URL(`../../build/${name}.js`, import.meta.url).href);
/** @type {typeof import("../../src/cluster/membership.js")} */
const { createMembership } = await build("cluster/membership");
/** @type {typeof import("../../src/cluster/leases.js")} */
const { createHostLeases } = await build("cluster/leases");
/** @type {typeof import("../../src/cluster/account-limits.js")} */
const { createHostLimits } = await build("cluster/account-limits");
/** @type {typeof import("../../src/store/postgres/cluster-database.js")} */
const { openClusterDatabase } = await build("store/postgres/cluster-database");
/** @type {typeof import("../../src/core/database-url.js")} */
const { parseDatabaseUrl } = await build("core/database-url");

/** @typedef {{ url: string, first: number, hosts: number, agents: number, share: number, leaseMs: number }} Plan */

const pause = (/** @type {number} */ ms, /** @type {AbortSignal} */ signal) =>
	sleep(ms, undefined, { signal }).catch(() => {});
const nowMs = () => performance.timeOrigin + performance.now();

/** @type {Map<number, AbortController>} */
const hosts = new Map();
/** @type {Map<number, Set<string>>} */
const running = new Map();
let failures = 0;

/**
 * Hosts in groups of `share` offer the same agents, as many as the group is to run.
 *
 * @param {Plan} plan
 * @param {number} number
 */
function startHost({ url, agents, share, leaseMs }, number) {
	const parsed = parseDatabaseUrl(url);
	if (!parsed.ok) throw new Error(parsed.problem);
	const over = new AbortController();
	/** @type {Set<string>} */
	const own = new Set();
	hosts.set(number, over);
	running.set(number, own);
	const group = Math.floor(number / share);
	const placed = Array.from({ length: agents * share }, (_, at) => ({
		agent: {
			...{ id: `g${group}:a${at}`, cli: null, drainMs: 5_000 },
			placement: { labels: {}, onLost: /** @type {const} */ ("replace"), leaseMs },
		},
		isUp: true,
	}));
	const membership = createMembership({ onChange() {}, wallMs: nowMs });
	const clocks = { steadyMs: () => performance.now(), wallMs: nowMs, random: Math.random };
	const leases = createHostLeases({
		...clocks,
		bootMs: nowMs,
		unavailable: () => membership.view().reason,
		note() {},
		sleep: pause,
		every(ms, run) {
			const timer = setInterval(run, ms);
			return () => clearInterval(timer);
		},
	});
	leases.attach({
		placed: () => placed,
		isGone: (id) => !own.has(id),
		gained: (id) => void own.add(id),
		lost: (id) => void own.delete(id),
		extended() {},
		asks() {},
		asksNoMore() {},
		announced() {},
	});
	const limits = createHostLimits({ ...clocks, isOff: () => false, sleep: pause });
	limits.attach({
		shared: () => [`account-${group}`, "account"],
		read: () => ({ state: null, freedAtMs: 0, members: [] }),
		nowMs,
		adopt() {},
		grantProbe() {},
	});
	const member = { host: `host-${number}`, home: `home-${number}`, boot: `boot-${number}` };
	const facts = async () => ({
		...{ version: "1.0.0", labels: {}, advertise: null, adapters: ["claude"], cpus: 8, load: 1 },
		...{ memoryTotalBytes: 1, memoryFreeBytes: 1, agents: own.size },
	});
	const open = () => openClusterDatabase(parsed.target, member.host);
	void membership.run(
		{
			...{ member, facts, open },
			serve: async (database, signal) => {
				await Promise.all([
					leases.run(member, database.leases, signal),
					limits.run(member, database.limits, signal),
				]);
				failures += over.signal.aborted ? 0 : 1;
				leases.close();
			},
		},
		over.signal,
	);
}

process.on("message", async (/** @type {any} */ message) => {
	if (message.start !== undefined) {
		/** @type {Plan} */
		const plan = message.start;
		for (let at = 0; at < plan.hosts; at++) startHost(plan, plan.first + at);
	}
	for (const number of message.kill ?? []) {
		hosts.get(number)?.abort();
		hosts.delete(number);
		running.delete(number);
	}
	if (message.ask !== undefined) {
		const held = [...running.values()].reduce((sum, own) => sum + own.size, 0);
		process.send?.({ answer: message.ask, held, failures, cpuMs: process.cpuUsage() });
	}
});
process.on("disconnect", () => process.exit(0));
