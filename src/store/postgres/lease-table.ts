/** The leases of agents on PostgreSQL. Only its clock decides whether a lease has expired. */

import type { Pool, PoolClient } from "pg";
import type { Member } from "../../core/cluster.js";
import type { Lease, OnLost } from "../../core/lease.js";
import type { PlacementHost } from "../../core/placement.js";
import type { Assignment, HeldLease, LeaseTable } from "../../ports/leases.js";
import { explainFailure } from "./connect.js";

/** One host at a time assigns leases. */
const SWEEP_LOCK = 7_237_311_003;
/** A transaction is short, also when all agents of many hosts are to be placed. */
const SWEPT_MAX = 500;
const LEFT_MS = "(extract(epoch FROM l.expires_at - clock_timestamp()) * 1000)::float8 AS left_ms";
const KNOWN = "EXISTS (SELECT FROM reeve.hosts h WHERE h.host = l.host AND h.home = l.home)";
/** An answer is about one holder. */
const ANSWER = "(CASE WHEN l.answered_epoch = l.epoch THEN l.answer END)";
/** As `isFree` in core. */
const FREE = `(l.host IS NULL
	OR (l.boot IS NULL AND (l.expires_at <= clock_timestamp() OR NOT ${KNOWN}))
	OR (l.boot IS NOT NULL AND l.on_lost = 'keep' AND NOT ${KNOWN})
	OR (l.boot IS NOT NULL AND l.expires_at <= clock_timestamp()
		AND (l.on_lost = 'replace' OR (l.on_lost = 'ask' AND (NOT ${KNOWN} OR ${ANSWER} = 'replace')))))`;
const COLUMNS = `l.agent, l.epoch::float8, l.renewals::float8, l.host, l.home, l.boot, l.on_lost,
	l.lease_ms, l.wanted, l.reason, ${ANSWER} AS answer, ${LEFT_MS}, k.host IS NOT NULL AS is_host_known,
	k.leaving IS NOT NULL AND k.leaving = k.boot AS is_host_leaving`;
/** With its host. */
const LEASES = "reeve.leases l LEFT JOIN reeve.hosts k ON k.host = l.host AND k.home = l.home";
/** The daemon that writes is the one of its host. */
const IS_MEMBER =
	"EXISTS (SELECT FROM reeve.hosts m WHERE m.host = $1 AND m.home = $2 AND m.boot = $3)";
const UNTIL = "clock_timestamp() + make_interval(secs => l.lease_ms / 1000.0)";

interface LeaseRow
	extends Pick<
		Lease,
		"agent" | "epoch" | "renewals" | "host" | "home" | "boot" | "wanted" | "reason" | "answer"
	> {
	readonly on_lost: OnLost;
	readonly lease_ms: number;
	readonly left_ms: number;
	readonly is_host_known: boolean;
	readonly is_host_leaving: boolean;
}

interface HostRow extends Omit<PlacementHost, "ageMs"> {
	readonly age_ms: number;
}

export function createLeaseTable(pool: Pool): LeaseTable {
	const rethrow = (error: unknown): never => {
		throw explainFailure(error);
	};
	return {
		async offer(member, agents) {
			const names = agents.map(({ agent }) => agent);
			await pool
				.query(
					`UPDATE reeve.hosts SET offers = $4 WHERE host = $1 AND home = $2 AND boot = $3
						AND offers IS DISTINCT FROM $4`,
					[...keyOf(member), JSON.stringify(names)],
				)
				.catch(rethrow);
			if (agents.length === 0) return [];
			const found = await readLeases(pool, names).catch(rethrow);
			if (found.length === names.length) return found;
			// Only the holder of a lease changes its terms later.
			await pool
				.query(
					`INSERT INTO reeve.leases (agent, on_lost, lease_ms)
						SELECT * FROM unnest($1::text[], $2::text[], $3::int[])
						ON CONFLICT (agent) DO NOTHING`,
					[names, agents.map(({ onLost }) => onLost), agents.map(({ leaseMs }) => leaseMs)],
				)
				.catch(rethrow);
			return readLeases(pool, names).catch(rethrow);
		},
		async renew(member, held) {
			const { rows } = await pool
				.query<{ readonly agent: string }>(
					`UPDATE reeve.leases l SET expires_at = ${UNTIL}, renewals = l.renewals + 1
						FROM unnest($4::text[], $5::bigint[]) AS mine (agent, epoch)
						WHERE l.agent = mine.agent AND l.epoch = mine.epoch AND l.host = $1 AND l.home = $2
							AND l.boot = $3 AND ${IS_MEMBER}
						RETURNING l.agent`,
					[...keyOf(member), held.map(({ agent }) => agent), held.map(({ epoch }) => epoch)],
				)
				.catch(rethrow);
			return rows.map(({ agent }) => agent);
		},
		async claim(member, leases) {
			const of = <K extends keyof (typeof leases)[number]>(key: K) =>
				leases.map((lease) => lease[key]);
			const { rows } = await pool
				.query<HeldLease>(
					`UPDATE reeve.leases l SET boot = $3, host = $1, epoch = l.epoch + 1, on_lost = c.on_lost,
							lease_ms = c.lease_ms,
							expires_at = clock_timestamp() + make_interval(secs => c.lease_ms / 1000.0)
						FROM unnest($4::text[], $5::bigint[], $6::text[], $7::int[])
							AS c (agent, epoch, on_lost, lease_ms)
						WHERE l.agent = c.agent AND l.epoch = c.epoch AND l.home = $2 AND l.host IS NOT NULL
							AND l.wanted AND ${IS_MEMBER}
						RETURNING l.agent, l.epoch::float8`,
					[...keyOf(member), of("agent"), of("epoch"), of("onLost"), of("leaseMs")],
				)
				.catch(rethrow);
			return rows;
		},
		async release(member, { agent, epoch }) {
			const { rowCount } = await pool
				.query(
					`UPDATE reeve.leases l SET host = NULL, home = NULL, boot = NULL, epoch = l.epoch + 1
						WHERE l.agent = $4 AND l.epoch = $5 AND l.host = $1 AND l.home = $2 AND l.boot = $3`,
					[...keyOf(member), agent, epoch],
				)
				.catch(rethrow);
			return rowCount === 1;
		},
		async ask({ agent, epoch }) {
			const { rowCount } = await pool
				.query(
					`UPDATE reeve.leases SET asked_epoch = $2
						WHERE agent = $1 AND epoch = $2 AND asked_epoch IS DISTINCT FROM $2`,
					[agent, epoch],
				)
				.catch(rethrow);
			return rowCount === 1;
		},
		async answer({ agent, epoch }, answer) {
			const { rowCount } = await pool
				.query(
					`UPDATE reeve.leases SET answer = $3, answered_epoch = $2
						WHERE agent = $1 AND epoch = $2 AND expires_at <= clock_timestamp()`,
					[agent, epoch, answer],
				)
				.catch(rethrow);
			return rowCount === 1;
		},
		async setWanted(wishes, by) {
			const ages = wishes.map(({ ageMs }) => ageMs);
			await pool
				.query(
					`UPDATE reeve.leases l SET wanted = w.wanted, wanted_at = w.at,
							reason = CASE WHEN w.wanted OR NOT l.wanted THEN l.reason ELSE $4 END
						FROM (SELECT agent, wanted, clock_timestamp() - make_interval(secs => age_ms / 1000) AS at
							FROM unnest($1::text[], $2::boolean[], $3::float8[]) AS u (agent, wanted, age_ms)) AS w
						WHERE l.agent = w.agent AND l.wanted_at <= w.at`,
					[wishes.map(({ agent }) => agent), wishes.map(({ wanted }) => wanted), ages, by],
				)
				.catch(rethrow);
		},
		sweep: (agents, decide) =>
			inTransaction(pool, (client) => sweep(client, agents, decide)).catch(rethrow),
	};
}

const keyOf = ({ host, home, boot }: Member) => [host, home, boot];

async function readLeases(pool: Pool, agents: readonly string[]): Promise<readonly Lease[]> {
	const { rows } = await pool.query<LeaseRow>(
		`SELECT ${COLUMNS} FROM ${LEASES} WHERE l.agent = ANY ($1)`,
		[agents],
	);
	return rows.map(leaseOf);
}

async function sweep(
	client: PoolClient,
	agents: readonly string[],
	decide: Parameters<LeaseTable["sweep"]>[1],
): Promise<readonly Assignment[] | null> {
	const { rows: locks } = await client.query<{ readonly mine: boolean }>(
		"SELECT pg_try_advisory_xact_lock($1) AS mine",
		[SWEEP_LOCK],
	);
	if (locks[0]?.mine !== true) return null;
	const { rows } = await client.query<LeaseRow>(
		`SELECT ${COLUMNS} FROM ${LEASES} WHERE l.agent = ANY ($1) AND l.wanted AND ${FREE}
			ORDER BY l.agent LIMIT ${SWEPT_MAX}`,
		[agents],
	);
	if (rows.length === 0) return [];
	// With their leases counted through an index: a cluster may have thousands.
	const { rows: hosts } = await client.query<HostRow>(
		`SELECT h.host, h.home, h.labels, h.adapters, h.cpus, h.load, h.offers,
				(h.draining OR h.leaving IS NOT DISTINCT FROM h.boot) AS draining,
				(greatest(0, extract(epoch FROM clock_timestamp() - h.seen_at)) * 1000)::float8 AS age_ms,
				(SELECT count(*) FROM reeve.leases l WHERE l.home = h.home)::int AS leases
			FROM reeve.hosts h WHERE h.offers ?| $1 ORDER BY h.host`,
		[rows.map(({ agent }) => agent)],
	);
	const decided = new Map(
		decide(rows.map(leaseOf), hosts.map(hostOf)).map((each) => [each.agent, each]),
	);
	const of = <K extends keyof Assignment>(key: K) => [...decided.values()].map((each) => each[key]);
	const { rows: made } = await client.query<{ readonly agent: string }>(
		`UPDATE reeve.leases l SET host = a.host, home = a.home, boot = NULL, epoch = l.epoch + 1,
				reason = a.reason, expires_at = ${UNTIL}
			FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
				AS a (agent, epoch, renewals, host, home, reason)
			WHERE l.agent = a.agent AND l.epoch = a.epoch AND l.renewals = a.renewals AND l.wanted
				AND ${FREE}
			RETURNING l.agent`,
		[of("agent"), of("epoch"), of("renewals"), of("host"), of("home"), of("reason")],
	);
	return made.flatMap(({ agent }) => decided.get(agent) ?? []);
}

async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
	const client = await pool.connect();
	let failed: Error | undefined;
	try {
		await client.query("BEGIN");
		const result = await work(client);
		await client.query("COMMIT");
		return result;
	} catch (error) {
		failed = error as Error;
		throw error;
	} finally {
		// A connection with an open transaction is closed, which rolls it back.
		client.release(failed);
	}
}

function leaseOf(row: LeaseRow): Lease {
	const { agent, epoch, renewals, host, home, boot, wanted, reason, answer } = row;
	return {
		...{ agent, epoch, renewals, host, home, boot, wanted, reason, answer },
		...{ onLost: row.on_lost, leaseMs: row.lease_ms, leftMs: row.left_ms },
		...{ isHostKnown: row.is_host_known, isHostLeaving: row.is_host_leaving },
	};
}

function hostOf({ age_ms: ageMs, ...host }: HostRow): PlacementHost {
	return { ...host, ageMs };
}
