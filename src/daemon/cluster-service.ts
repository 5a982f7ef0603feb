/** Makes this host a member of the cluster that the settings name. */

import { randomUUID } from "node:crypto";
import { access, constants } from "node:fs/promises";
import { availableParallelism, freemem, hostname, loadavg, totalmem } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHostLimits, type HostLimits } from "../cluster/account-limits.js";
import { createHostLeases, type HostLeases } from "../cluster/leases.js";
import { createMembership, type Membership } from "../cluster/membership.js";
import { expandVariables } from "../config/expand.js";
import type { ClusterSettings } from "../config/no-settings.js";
import { type HostFacts, hostNameOf } from "../core/cluster.js";
import { type DatabaseTarget, parseDatabaseUrl } from "../core/database-url.js";
import { ReeveError } from "../core/errors.js";
import { ADAPTERS } from "../core/states.js";
import type { SharedTasks } from "../engine/shared-tasks/shared-tasks.js";
import { createJsonFile, type FileDamage } from "../home/json-file.js";
import type { Home } from "../home/paths.js";
import { readBootMs } from "../host/boot-clock.js";
import type { ClusterDatabase } from "../ports/cluster.js";
import type { NewEvent } from "../ports/store.js";
import type { Service } from "../services/supervise.js";
import { aborted } from "./aborted.js";
import type { Logger } from "./logger.js";
import type { Settings } from "./settings.js";

const RETRY_MS = 5_000;

export function createClusterMembership(parts: {
	readonly note: (event: NewEvent) => void;
	readonly logger: Logger;
}): Membership {
	const { note, logger } = parts;
	return createMembership({
		wallMs: Date.now,
		onChange({ state, host, reason, memberAtMs }, before) {
			logger.info("cluster", { state, host, reason });
			if (host === null || state === before.state) return;
			if (state === "member") {
				const downMs = before.memberAtMs === null ? null : (memberAtMs ?? 0) - before.memberAtMs;
				note({ type: "cluster.joined", data: { host, down_ms: downMs } });
			}
			if (state === "unavailable") {
				note({ type: "cluster.lost", data: { host, reason: reason ?? "" } });
			}
			if (state === "refused") {
				note({ type: "cluster.refused", data: { host, reason: reason ?? "" } });
			}
		},
	});
}

/** The leases of this host, which outlive an interrupted membership. */
export function createLeases(membership: Membership, note: (event: NewEvent) => void): HostLeases {
	return createHostLeases({
		bootMs: readBootMs,
		steadyMs: () => performance.now(),
		wallMs: Date.now,
		random: Math.random,
		sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
		every(ms, run) {
			const timer = setInterval(run, ms).unref();
			return () => clearInterval(timer);
		},
		note,
		unavailable() {
			const { state, reason } = membership.view();
			if (state === "member") return null;
			if (state === "off") return "this host belongs to no cluster";
			return reason ?? "this host is joining it";
		},
	});
}

/** Why requests about the cluster fail now. */
export function whyNoCluster(membership: Membership): ReeveError {
	try {
		membership.assertMember();
	} catch (error) {
		if (error instanceof ReeveError) return error;
		throw error;
	}
	return new ReeveError("cluster_unavailable", "this host is joining the cluster");
}

/** The usage limits that this host shares. */
export function createLimits(settings: Settings): HostLimits {
	return createHostLimits({
		steadyMs: () => performance.now(),
		random: Math.random,
		sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
		isOff: () => settings.current.cluster === null,
	});
}

export interface ClusterServiceParts {
	readonly membership: Membership;
	readonly leases: HostLeases;
	readonly sharedTasks: SharedTasks;
	readonly sharedLimits: HostLimits;
	readonly home: Home;
	readonly settings: Settings;
	readonly version: string;
	readonly runningAgents: () => number;
	/** Remembers a secret, so that it is removed from everything that is stored or sent. */
	readonly learn: (name: string, value: string) => void;
	readonly onDamage: (damage: FileDamage) => void;
}

/** Tolerated: agents need no cluster. */
export function clusterService(parts: ClusterServiceParts): Service {
	const { settings } = parts;
	const boot = randomUUID();
	return {
		name: "cluster",
		policy: "tolerated",
		async run(signal, ready) {
			ready();
			while (!signal.aborted) {
				const { cluster } = settings.current;
				const until = AbortSignal.any([signal, untilOther(settings, cluster, signal)]);
				if (cluster === null) await aborted(until);
				else await keepTrying(cluster, boot, parts, until);
			}
		},
	};
}

/** Aborts when the settings name another cluster. */
function untilOther(
	settings: Settings,
	cluster: ClusterSettings | null,
	signal: AbortSignal,
): AbortSignal {
	const other = new AbortController();
	const watch = async () => {
		while (!signal.aborted) {
			await aborted(AbortSignal.any([signal, settings.untilChange]));
			if (JSON.stringify(settings.current.cluster) !== JSON.stringify(cluster)) break;
		}
		other.abort();
	};
	void watch();
	return other.signal;
}

/** A full disk, for example: the id of the home cannot be written. */
async function keepTrying(
	cluster: ClusterSettings,
	boot: string,
	parts: ClusterServiceParts,
	signal: AbortSignal,
): Promise<void> {
	while (!signal.aborted) {
		try {
			await belongTo(cluster, boot, parts, signal);
		} catch (error) {
			const reason = error instanceof Error ? error.message : String(error);
			parts.membership.fail(hostOf(cluster), reason, null);
			await sleep(RETRY_MS, null, { signal }).catch(() => {});
		}
	}
}

const hostOf = ({ host }: ClusterSettings) => host ?? hostNameOf(hostname());

async function belongTo(
	cluster: ClusterSettings,
	boot: string,
	parts: ClusterServiceParts,
	signal: AbortSignal,
): Promise<void> {
	const { membership, leases, sharedLimits, sharedTasks, home, version, runningAgents } = parts;
	const { learn, onDamage } = parts;
	const host = hostOf(cluster);
	const found = targetOf(cluster.database, home, learn);
	if (!found.ok) {
		membership.fail(host, found.problem, found.hint);
		return aborted(signal);
	}
	const member = { host, boot, home: await readHomeId(home, onDamage) };
	const adapters = createAdapterSearch();
	const facts = async (): Promise<HostFacts> => ({
		...{ version, labels: cluster.labels, advertise: cluster.advertise },
		...{ adapters: await adapters(), cpus: availableParallelism(), load: loadavg()[0] ?? 0 },
		...{ memoryTotalBytes: totalmem(), memoryFreeBytes: freemem(), agents: runningAgents() },
	});
	const open = async () => {
		// Loaded only with a cluster.
		const { openClusterDatabase } = await import("../store/postgres/cluster-database.js");
		return openClusterDatabase(found.target, host);
	};
	const serve = async (database: ClusterDatabase, until: AbortSignal) => {
		const describe = async () => {
			const hosts = await database.hosts();
			return hosts.find(({ boot: known }) => known === member.boot) ?? null;
		};
		await Promise.all([
			leases.run(member, database.leases, until),
			sharedTasks.run({ member, database: database.tasks }, describe, until),
			sharedLimits.run(member, database.limits, until),
		]);
	};
	await membership.run({ member, open, facts, serve }, signal);
}

type FoundTarget =
	| { readonly ok: true; readonly target: DatabaseTarget }
	| { readonly ok: false; readonly problem: string; readonly hint: string };

function targetOf(written: string, home: Home, learn: ClusterServiceParts["learn"]): FoundTarget {
	const { text, mistakes } = expandVariables(written, process.env);
	const [mistake] = mistakes;
	if (mistake !== undefined) {
		const hint = "Set the variable in the environment of the daemon, and restart the daemon.";
		return { ok: false, problem: `\`cluster.database\`: ${mistake.message}`, hint };
	}
	const parsed = parseDatabaseUrl(text);
	if (!parsed.ok) return { ...parsed, problem: `\`cluster.database\`: ${parsed.problem}` };
	learn("DATABASE_SECRET", text);
	const { password, tls } = parsed.target;
	if (password !== null) learn("DATABASE_PASSWORD", password);
	const place = (path: string | null) => (path === null ? null : resolve(home.dir, path));
	const files = tls && { ca: place(tls.ca), cert: place(tls.cert), key: place(tls.key) };
	return { ok: true, target: { ...parsed.target, tls: files } };
}

/** The id of this home, made once. */
async function readHomeId(home: Home, onDamage: (damage: FileDamage) => void): Promise<string> {
	const file = createJsonFile<{ readonly id: string }>(home.cluster, {
		locks: home.locks,
		onDamage,
		parse(value) {
			const { id } = value as { id?: unknown };
			if (typeof id === "string") return { id };
			throw new Error("it has no id");
		},
		restoresPrevious: true,
		consequence: "this home gets a new id in the cluster",
	});
	return (await file.update((before) => before ?? { id: randomUUID() })).id;
}

const SEARCH_EVERY_MS = 60_000;
const CLIS = ADAPTERS.filter((adapter) => adapter !== "generic" && adapter !== "acp");

/** The agent CLIs that are installed on this host; searched again from time to time. */
function createAdapterSearch(): () => Promise<readonly string[]> {
	const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
	let [found, atMs]: [readonly string[], number] = [[], Number.NEGATIVE_INFINITY];
	const isThere = async (name: string) => {
		for (const folder of folders) {
			try {
				await access(join(folder, name), constants.X_OK);
				return true;
			} catch {
				// In another folder, or nowhere.
			}
		}
		return false;
	};
	return async () => {
		if (performance.now() - atMs < SEARCH_EVERY_MS) return found;
		const installed = await Promise.all(CLIS.map(isThere));
		[found, atMs] = [CLIS.filter((_, at) => installed[at]), performance.now()];
		return found;
	};
}
