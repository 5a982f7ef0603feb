/** A real PostgreSQL with a data folder and a port of its own. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { folderOf } from "../../scripts/lib/system-programs.mjs";
import { eventually } from "../faults/fleet-home.js";

export interface TestPostgres {
	readonly port: number;
	/** The URL of a database, as the superuser or another role. */
	url(database?: string, role?: string): string;
	/** Creates an empty database and returns its URL. */
	createDatabase(name: string): Promise<string>;
	/** Runs statements as the superuser or another role. */
	query(text: string, database?: string, role?: string): Promise<pg.QueryResult["rows"]>;
	/** As `kill -9` of the server: without a checkpoint. */
	kill(): Promise<void>;
	start(): Promise<void>;
	/** Ends the server and removes its data. */
	stop(): Promise<void>;
	/** Freezes the server, or lets it continue. */
	signal(name: "SIGSTOP" | "SIGCONT"): void;
}

/** PostgreSQL refuses to run as root. */
function ownerOf(): { readonly uid: number; readonly gid: number } | null {
	if (process.getuid?.() !== 0) return null;
	const idOf = (flag: string) =>
		Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
	return { uid: idOf("-u"), gid: idOf("-g") };
}

interface PostgresOptions {
	readonly tls?: boolean;
	/** Makes it a standby that replicates this server. */
	readonly standbyOf?: TestPostgres;
}

export async function startPostgres({
	tls = false,
	standbyOf,
}: PostgresOptions = {}): Promise<TestPostgres> {
	const owner = ownerOf();
	const folder = mkdtempSync(join(tmpdir(), "reeve-pg-"));
	const data = join(folder, "data");
	const program = (name = "") => join(folderOf("postgres") ?? "", name);
	if (owner !== null) chownSync(folder, owner.uid, owner.gid);
	const [maker, ...making] =
		standbyOf === undefined
			? ["initdb", "-U", "reeve", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
			: ["pg_basebackup", "-R", "-d", standbyOf.url(), "--checkpoint=fast", "--no-sync"];
	execFileSync(program(maker), [...making, "-D", data], { ...owner, cwd: folder, stdio: "pipe" });
	if (tls) {
		for (const name of ["cert.pem", "key.pem"]) {
			const path = join(data, name);
			cpSync(join("test/fixtures/tls", name), path);
			if (owner !== null) chownSync(path, owner.uid, owner.gid);
			chmodSync(path, 0o600);
		}
	}
	const port = await freePort();
	const settings = [
		...["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"],
		...(tls ? ["ssl=on", "ssl_cert_file=cert.pem", "ssl_key_file=key.pem"] : []),
	];
	let server: ChildProcess | null = null;
	const url = (database = "postgres", role = "reeve") =>
		`postgres://${role}@127.0.0.1:${port}/${database}`;
	const query = async (text: string, database?: string, role?: string) => {
		const client = new pg.Client({ connectionString: url(database, role) });
		client.on("error", () => {});
		await client.connect();
		try {
			return (await client.query(text)).rows;
		} finally {
			await client.end();
		}
	};
	const self: TestPostgres = {
		...{ port, url, query },
		async createDatabase(name) {
			await query(`CREATE DATABASE ${name}`);
			return url(name);
		},
		async start() {
			const args = ["-D", data, "-p", String(port), ...settings.flatMap((each) => ["-c", each])];
			const started = spawn(program("postgres"), args, { ...owner, cwd: folder, stdio: "ignore" });
			server = started;
			await eventually(async () => {
				if (started.exitCode !== null) throw new Error(`postgres exited: ${started.exitCode}`);
				return query("SELECT 1").then(
					() => true,
					() => false,
				);
			}, "PostgreSQL accepts connections");
		},
		async kill() {
			const running = server;
			server = null;
			if (running === null || running.exitCode !== null || running.signalCode !== null) return;
			const gone = once(running, "exit");
			running.kill("SIGCONT");
			// Its processes end without a checkpoint; with SIGKILL, they would outlive the test.
			running.kill("SIGQUIT");
			await gone;
		},
		signal(name) {
			server?.kill(name);
			for (const pid of childrenOf(server?.pid)) {
				try {
					process.kill(pid, name);
				} catch {
					// A process of a connection that has just ended.
				}
			}
		},
		async stop() {
			self.signal("SIGCONT");
			await self.kill();
			rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
		},
	};
	await self.start();
	return self;
}

function childrenOf(pid: number | undefined): readonly number[] {
	const ran = execFileSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" });
	return ran
		.trim()
		.split("\n")
		.map((line) => line.trim().split(/\s+/).map(Number))
		.flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));
}

async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as { port: number };
	await new Promise((resolve) => server.close(resolve));
	return port;
}
