/**
 * The tables of a cluster and their versions. One host at a time changes them (an advisory lock), in one
 * transaction, so that hosts that start at once on an empty database do not disturb each other.
 */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Pool, PoolClient } from "pg";
import { ReeveError } from "../../core/errors.js";

/** In order; the first is version 1. */
const MIGRATIONS = [
	"001-hosts.sql",
	"002-leases.sql",
	"003-account-limits.sql",
	"004-lost-answers.sql",
	"005-lease-wishes.sql",
	"006-leaving-hosts.sql",
	"007-lease-indexes.sql",
	"008-tasks.sql",
];
/** Any number that other programs on the same server do not use. */
const MIGRATION_LOCK = 7_237_311_001;
/** The lock is held while another host migrates. */
const MIGRATION_MS_MAX = 60_000;
const NOT_PERMITTED = "42501";

interface Versions {
	readonly version: number;
	readonly compatible: number;
}

export async function migrate(pool: Pool): Promise<void> {
	if (isCurrent(await readVersions(pool))) return;
	const client = await pool.connect();
	let failed: Error | undefined;
	try {
		await client.query("BEGIN");
		await client.query(`SET LOCAL statement_timeout = ${MIGRATION_MS_MAX}`);
		await query(client, "SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
		const found = await readVersions(client);
		for (const file of isCurrent(found) ? [] : MIGRATIONS.slice(found.version)) {
			await runFile(client, file);
		}
		await client.query("COMMIT");
	} catch (error) {
		failed = error as Error;
		throw error;
	} finally {
		// A connection with an open transaction is closed, which rolls it back.
		client.release(failed);
	}
}

/** Throws if the tables are too new for this version. */
function isCurrent({ version, compatible }: Versions): boolean {
	if (compatible > MIGRATIONS.length) {
		throw new ReeveError(
			"cluster_unavailable",
			`the tables of the cluster have version ${version}, which this version of Reeve does not support`,
			"Upgrade Reeve on this host.",
		);
	}
	return version >= MIGRATIONS.length;
}

async function readVersions(pool: Pool | PoolClient): Promise<Versions> {
	// Not `to_regclass`, which answers from a cache that a wait for the lock does not refresh.
	const tables = await pool.query(
		"SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'reeve' AND tablename = 'migrations'",
	);
	if (tables.rowCount === 0) return { version: 0, compatible: 0 };
	const { rows } = await pool.query(
		"SELECT coalesce(max(version), 0) AS version, coalesce(max(compatible), 0) AS compatible FROM reeve.migrations",
	);
	return rows[0];
}

async function runFile(client: PoolClient, name: string): Promise<void> {
	const path = fileURLToPath(new URL(name, import.meta.url));
	try {
		await client.query({ text: await readFile(path, "utf8"), ...UNHURRIED } as never);
	} catch (error) {
		if ((error as { code?: string }).code !== NOT_PERMITTED) throw error;
		throw new ReeveError(
			"cluster_unavailable",
			`the role of this daemon may not create the tables of the cluster: ${(error as Error).message}`,
			`Run ${path} once as the owner of the database, and grant the role its rights: docs/guides/cluster.md.`,
		);
	}
}

/** The limit of the connection is for short statements. */
const UNHURRIED = { query_timeout: MIGRATION_MS_MAX };

function query(client: PoolClient, text: string, values: readonly unknown[]) {
	return client.query({ text, values: [...values], ...UNHURRIED } as never);
}
