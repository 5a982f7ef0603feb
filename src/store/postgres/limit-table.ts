/** The usage limits of accounts on PostgreSQL. Hosts send and get ages, because their clocks differ. */

import type { Pool } from "pg";
import type { UsageLimitSettings } from "../../core/account.js";
import { SILENT_AFTER_MS } from "../../core/cluster.js";
import type { LimitRow, SharedPhase } from "../../core/shared-limit.js";
import type { LimitTable } from "../../ports/shared-limits.js";
import { explainFailure } from "./connect.js";

interface Row {
	readonly account: string;
	readonly version: number;
	readonly host: string;
	readonly home: string;
	readonly is_host_alive: boolean;
	readonly phase: SharedPhase;
	readonly since_ms: number;
	readonly first_ms: number;
	readonly until_ms: number | null;
	readonly hits: number;
	readonly end_known: boolean;
	readonly reason: string;
	readonly probe: string | null;
	readonly settings: UsageLimitSettings;
}

/** From now, by the clock of the database. */
const inMs = (column: string) =>
	`(extract(epoch FROM l.${column} - clock_timestamp()) * 1000)::float8`;
const at = (parameter: string) =>
	`clock_timestamp() + make_interval(secs => ${parameter}::float8 / 1000)`;

export function createLimitTable(pool: Pool): LimitTable {
	const rethrow = (error: unknown): never => {
		throw explainFailure(error);
	};
	return {
		async read(accounts, nowMs) {
			const { rows } = await pool
				.query<Row>(
					`SELECT l.account, l.version::float8, l.host, l.home, l.phase, l.hits, l.end_known, l.reason,
							l.probe, l.settings, ${inMs("since")} AS since_ms, ${inMs("first_at")} AS first_ms,
							${inMs("until")} AS until_ms,
							EXISTS (SELECT FROM reeve.hosts h WHERE h.host = l.host AND h.home = l.home
								AND h.seen_at > clock_timestamp() - make_interval(secs => ${SILENT_AFTER_MS / 1_000}))
								AS is_host_alive
						FROM reeve.account_limits l WHERE l.account = ANY ($1)`,
					[accounts],
				)
				.catch(rethrow);
			return rows.map((row) => limitOf(row, nowMs));
		},
		async write({ host, home, boot }, account, version, limit, nowMs) {
			const { phase, sinceMs, firstAtMs, untilMs, hits, endKnown, reason, probe, settings } = limit;
			const { rowCount } = await pool
				.query(
					`INSERT INTO reeve.account_limits AS l (account, version, host, home, phase, since, first_at,
							until, hits, end_known, reason, probe, settings)
						SELECT $4, $5::bigint + 1, $1, $2, $6, ${at("$7")}, ${at("$8")}, ${at("$9")},
							$10, $11, $12, $13, $14
						WHERE EXISTS (SELECT FROM reeve.hosts m WHERE m.host = $1 AND m.home = $2 AND m.boot = $3)
						ON CONFLICT (account) DO UPDATE SET version = excluded.version, host = excluded.host,
							home = excluded.home, phase = excluded.phase, since = excluded.since,
							first_at = excluded.first_at, until = excluded.until, hits = excluded.hits,
							end_known = excluded.end_known, reason = excluded.reason, probe = excluded.probe,
							settings = excluded.settings
							WHERE l.version = $5`,
					[
						...[host, home, boot, account, version, phase, sinceMs - nowMs, firstAtMs - nowMs],
						...[untilMs === null ? null : untilMs - nowMs, hits, endKnown, reason, probe],
						JSON.stringify(settings),
					],
				)
				.catch(rethrow);
			return rowCount === 1 ? version + 1 : null;
		},
	};
}

function limitOf(row: Row, nowMs: number): LimitRow {
	const { account, version, host, home, phase, hits, reason, probe, settings } = row;
	return {
		...{ account, version, host, home, phase, hits, reason, probe, settings },
		isHostAlive: row.is_host_alive,
		sinceMs: nowMs + row.since_ms,
		firstAtMs: nowMs + row.first_ms,
		untilMs: row.until_ms === null ? null : nowMs + row.until_ms,
		endKnown: row.end_known,
	};
}
