/** The shared database of a cluster on PostgreSQL. All times are by its clock. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "pg";
import {
	type ClusterHost,
	type HostFacts,
	type Member,
	SILENT_AFTER_MS,
} from "../../core/cluster.js";
import type { DatabaseTarget } from "../../core/database-url.js";
import type { ClusterDatabase } from "../../ports/cluster.js";
import { connectPool, explainFailure, TASK_CONNECTIONS } from "./connect.js";
import { createDbosQueues } from "./dbos-queues.js";
import { createLeaseTable } from "./lease-table.js";
import { createLimitTable } from "./limit-table.js";
import { migrate } from "./migrate.js";
import { createSharedTasks } from "./shared-tasks.js";

const CLOSE_MS_MAX = 1_000;
/** One host joins at a time, because each decides from the rows of the others. */
const JOIN_LOCK = 7_237_311_002;
const SILENT = `make_interval(secs => ${SILENT_AFTER_MS / 1_000})`;
const AGE_MS =
	"(greatest(0, extract(epoch FROM clock_timestamp() - seen_at)) * 1000)::float8 AS age_ms";
const COLUMNS = `host, home, boot, version, labels, advertise, adapters, cpus, load, agents,
	(draining OR leaving IS NOT DISTINCT FROM boot) AS draining,
	memory_total_bytes::float8, memory_free_bytes::float8,
	(extract(epoch FROM joined_at) * 1000)::float8 AS joined_at_ms, ${AGE_MS}`;
const FACTS = `version = $3, labels = $4, advertise = $5, adapters = $6, cpus = $7, load = $8,
	memory_total_bytes = $9, memory_free_bytes = $10, agents = $11, seen_at = clock_timestamp()`;

/** Connects when the first statement is sent. Throws if the package `pg` or a certificate is missing. */
export async function openClusterDatabase(
	target: DatabaseTarget,
	host: string,
): Promise<ClusterDatabase> {
	const pool = await connectPool(target, host).catch(rethrow);
	const taskPool = await connectPool(target, host, TASK_CONNECTIONS).catch(rethrow);
	const queues = createDbosQueues(taskPool);
	return {
		prepare: () => migrate(pool).catch(rethrow),
		join: (member, facts, refuse) => join(pool, member, facts, refuse).catch(rethrow),
		async beat({ host, home, boot }, facts) {
			const { rowCount } = await pool
				.query(
					`UPDATE reeve.hosts SET ${FACTS} WHERE host = $1 AND boot = $2 AND home = $12
						AND seen_at > clock_timestamp() - ${SILENT}`,
					[host, boot, ...valuesOf(facts), home],
				)
				.catch(rethrow);
			return rowCount === 1;
		},
		hosts: () => readHosts(pool).catch(rethrow),
		async setDraining(host, draining) {
			const leaving = draining === "until_restart" ? "boot" : "NULL";
			const { rowCount } = await pool
				.query(
					`UPDATE reeve.hosts SET leaving = ${leaving}, draining = coalesce($2, draining) WHERE host = $1`,
					[host, draining === "until_restart" ? null : draining],
				)
				.catch(rethrow);
			return rowCount === 1;
		},
		async remove(host) {
			const removed = await pool
				.query(
					`DELETE FROM reeve.hosts WHERE host = $1 AND seen_at <= clock_timestamp() - ${SILENT}`,
					[host],
				)
				.catch(rethrow);
			if (removed.rowCount === 1) return "removed";
			const { rowCount } = await pool
				.query("SELECT 1 FROM reeve.hosts WHERE host = $1", [host])
				.catch(rethrow);
			return rowCount === 1 ? "alive" : "unknown";
		},
		leases: createLeaseTable(pool),
		tasks: createSharedTasks(taskPool, queues),
		limits: createLimitTable(pool),
		async close() {
			const ended = queues.close().then(() => Promise.all([pool.end(), taskPool.end()]));
			// A connection over a dead network waits for its end for minutes.
			await Promise.race([ended, sleep(CLOSE_MS_MAX, undefined, { ref: false })]);
		},
	};
}

async function join(
	pool: Pool,
	member: Member,
	facts: HostFacts,
	refuse: (hosts: readonly ClusterHost[]) => string | null,
): Promise<string | null> {
	const client = await pool.connect();
	let failed: Error | undefined;
	try {
		await client.query("BEGIN");
		await client.query("SELECT pg_advisory_xact_lock($1)", [JOIN_LOCK]);
		const refused = refuse(await readHosts(client));
		if (refused === null) {
			const { host, home, boot } = member;
			// An operator's decision to drain the host outlives its daemons.
			await client.query(
				`INSERT INTO reeve.hosts (host, boot, version, labels, advertise, adapters, cpus, load,
						memory_total_bytes, memory_free_bytes, agents, home)
					VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
					ON CONFLICT (host) DO UPDATE SET ${FACTS}, home = $12, boot = $2,
						offers = '[]', joined_at = clock_timestamp()`,
				[host, boot, ...valuesOf(facts), home],
			);
		}
		await client.query("COMMIT");
		return refused;
	} catch (error) {
		failed = error as Error;
		throw error;
	} finally {
		client.release(failed);
	}
}

function valuesOf(facts: HostFacts): readonly unknown[] {
	return [
		...[facts.version, JSON.stringify(facts.labels), facts.advertise],
		...[JSON.stringify(facts.adapters), facts.cpus, facts.load],
		...[facts.memoryTotalBytes, facts.memoryFreeBytes, facts.agents],
	];
}

async function readHosts(pool: Pick<Pool, "query">): Promise<readonly ClusterHost[]> {
	const { rows } = await pool.query(`SELECT ${COLUMNS} FROM reeve.hosts ORDER BY host`);
	return rows.map((row) => ({
		...{ host: row.host, home: row.home, boot: row.boot, version: row.version },
		...{ labels: row.labels, advertise: row.advertise, adapters: row.adapters },
		...{ cpus: row.cpus, load: row.load, agents: row.agents, draining: row.draining },
		memoryTotalBytes: row.memory_total_bytes,
		memoryFreeBytes: row.memory_free_bytes,
		joinedAtMs: Math.round(row.joined_at_ms),
		ageMs: Math.round(row.age_ms),
	}));
}

function rethrow(error: unknown): never {
	throw explainFailure(error);
}
