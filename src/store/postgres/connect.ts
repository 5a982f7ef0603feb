/**
 * Connections to the database of a cluster. The package `pg` is loaded here and nowhere else, so only a
 * daemon with a cluster needs it.
 */

import { readFile } from "node:fs/promises";
import type { Pool, PoolConfig } from "pg";
import type { DatabaseTarget, DatabaseTls } from "../../core/database-url.js";
import { ReeveError } from "../../core/errors.js";

/** Few: a host sends short statements, one after another, and a database serves many hosts. */
const CONNECTIONS_MAX = 3;
const CONNECT_MS_MAX = 3_000;
/** A statement is ended by the server first, so that a late one has no effect. */
const STATEMENT_MS_MAX = 3_000;
/** How much longer than the server the client waits. */
const ANSWER_MS_EXTRA = 1_000;
const IDLE_MS_MAX = 60_000;

/** For tasks: also one for each queue that is polled at once, and one that creates tables. */
export const TASK_CONNECTIONS = { connections: 8, statementMs: 10_000 };

export async function connectPool(
	target: DatabaseTarget,
	host: string,
	{ connections = CONNECTIONS_MAX, statementMs = STATEMENT_MS_MAX } = {},
): Promise<Pool> {
	const { default: pg } = await loadPg();
	const { user, password, database, tls, port } = target;
	const config: PoolConfig = {
		...{ host: target.host, port, max: connections, application_name: `reeve ${host}` },
		...(user !== null && { user }),
		...(password !== null && { password }),
		...(database !== null && { database }),
		ssl: tls === null ? false : await readTls(tls),
		connectionTimeoutMillis: CONNECT_MS_MAX,
		idleTimeoutMillis: IDLE_MS_MAX,
		statement_timeout: statementMs,
		idle_in_transaction_session_timeout: STATEMENT_MS_MAX,
		query_timeout: statementMs + ANSWER_MS_EXTRA,
		keepAlive: true,
		allowExitOnIdle: true,
	};
	const pool = new pg.Pool(config);
	// A broken connection fails the statement that uses it, and is replaced. Without listeners, it would end
	// the daemon.
	pool.on("error", () => {});
	pool.on("connect", (client) => client.on("error", () => {}));
	return pool;
}

async function loadPg(): Promise<typeof import("pg")> {
	try {
		return await import("pg");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
		throw new ReeveError(
			"cluster_unavailable",
			"the package `pg`, which a cluster needs, is not installed",
			"Install it beside Reeve, for example `npm install --global pg@8.23.1`, and restart the daemon.",
		);
	}
}

async function readTls({ ca, cert, key }: DatabaseTls) {
	const read = async (path: string | null) => (path === null ? undefined : await readPem(path));
	const [caText, certText, keyText] = [await read(ca), await read(cert), await read(key)];
	return {
		rejectUnauthorized: true,
		...(caText !== undefined && { ca: caText }),
		...(certText !== undefined && { cert: certText }),
		...(keyText !== undefined && { key: keyText }),
	};
}

async function readPem(path: string): Promise<string> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		throw new ReeveError("cluster_unavailable", `cannot read ${path}: ${(error as Error).message}`);
	}
}

/** How to fix failures, by SQLSTATE code. */
const HINTS: Readonly<Record<string, string>> = {
	"28P01": "Check the password in `cluster.database`.",
	"28000": "Check the user in `cluster.database`, and `pg_hba.conf` on the server.",
	"3D000": "Create the database, or correct its name in `cluster.database`.",
	"53300": "Raise `max_connections` on the server, or put a connection pooler in front of it.",
	"42501": "Grant the role its rights: docs/guides/cluster.md lists them.",
};

/** Any failure of the database, as the error that clients get. */
export function explainFailure(error: unknown): ReeveError {
	if (error instanceof ReeveError) return error;
	const { code, message } = error as NodeJS.ErrnoException;
	// An address that refuses on IPv4 and IPv6 has an empty message.
	const text = message || code || "the connection failed";
	return new ReeveError("cluster_unavailable", `the database: ${text}`, HINTS[code ?? ""]);
}
