/** A PostgreSQL with a data folder and a port of its own, with its defaults for durability. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { folderOf } from "../../scripts/lib/system-programs.mjs";
import { until } from "../peers/world.mjs";

/** PostgreSQL refuses to run as root. */
function owner() {
	if (process.getuid?.() !== 0) return {};
	/** @param {string} flag */
	const idOf = (flag) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
	return { uid: idOf("-u"), gid: idOf("-g") };
}

export async function startBenchPostgres() {
	const as = owner();
	const folder = mkdtempSync(join(tmpdir(), "reeve-bench-pg-"));
	const data = join(folder, "data");
	if (as.uid !== undefined && as.gid !== undefined) chownSync(folder, as.uid, as.gid);
	/** @param {string} name */
	const program = (name) => join(folderOf("postgres") ?? "", name);
	const made = ["-D", data, "-U", "reeve", "--auth=trust", "-E", "UTF8", "--locale=C"];
	execFileSync(program("initdb"), made, { ...as, cwd: folder, stdio: "pipe" });
	const port = await freePort();
	const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
	const args = ["-D", data, "-p", String(port), ...settings.flatMap((each) => ["-c", each])];
	const server = spawn(program("postgres"), args, { ...as, cwd: folder, stdio: "ignore" });
	/** @param {string} text */
	const query = async (text) => {
		const client = new pg.Client({ connectionString: urlOf("postgres") });
		client.on("error", () => {});
		await client.connect();
		await client.query(text).finally(() => client.end());
	};
	/** @param {string} database */
	const urlOf = (database) => `postgres://reeve@127.0.0.1:${port}/${database}`;
	let isUp = false;
	const look = async () => {
		while (!isUp) {
			isUp = await query("SELECT 1").then(
				() => true,
				() => false,
			);
		}
	};
	void look();
	await until(() => isUp, "PostgreSQL");
	return {
		/** @param {string} name */
		async createDatabase(name) {
			await query(`CREATE DATABASE ${name}`);
			return urlOf(name);
		},
		async stop() {
			const gone = once(server, "exit");
			server.kill("SIGINT");
			await gone;
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

async function freePort() {
	const server = createServer();
	await new Promise((done) => server.listen(0, "127.0.0.1", () => done(null)));
	const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
	await new Promise((done) => server.close(done));
	return port;
}
