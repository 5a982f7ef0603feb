/**
 * A cluster of many hosts: the real database and protocol, with hosts that are simulated in a few processes. Measures
 * the start of all, the load of an idle cluster, and the loss of many hosts at once, and prints them for docs/scale.md.
 *
 *   npm run bench:scale -- [--hosts 200] [--agents 50] [--share 4] [--lost 20] [--seconds 60] [--processes 4]
 */

import { execFileSync, fork, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { folderOf } from "../scripts/lib/system-programs.mjs";

const { values } = parseArgs({
	options: {
		hosts: { type: "string", default: "200" },
		agents: { type: "string", default: "50" },
		share: { type: "string", default: "4" },
		lost: { type: "string", default: "20" },
		seconds: { type: "string", default: "60" },
		processes: { type: "string", default: "4" },
	},
});
const HOSTS = Number(values.hosts);
const AGENTS = Number(values.agents);
const SHARE = Number(values.share);
const LOST = Number(values.lost);
const SECONDS = Number(values.seconds);
const PROCESSES = Number(values.processes);
const LEASE_MS = 15_000;
const TICKS_PER_SECOND = 100;

/** A server of its own, with the defaults of PostgreSQL but for the number of connections. */
async function startServer() {
	const folder = mkdtempSync(join(tmpdir(), "reeve-scale-"));
	const data = join(folder, "data");
	const programs = folderOf("postgres") ?? "";
	const isRoot = process.getuid?.() === 0;
	const id = (/** @type {string} */ flag) =>
		Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
	const owner = isRoot ? { uid: id("-u"), gid: id("-g") } : {};
	if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
	const making = ["-D", data, "-U", "reeve", "--auth=trust", "-E", "UTF8", "--locale=C"];
	execFileSync(join(programs, "initdb"), making, { ...owner, cwd: folder, stdio: "pipe" });
	const listener = createServer();
	await new Promise((resolve) => listener.listen(0, "127.0.0.1", () => resolve(null)));
	const { port } = /** @type {import("node:net").AddressInfo} */ (listener.address());
	await new Promise((resolve) => listener.close(resolve));
	const settings = [
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=",
		"max_connections=1000",
	];
	const args = ["-D", data, "-p", String(port), ...settings.flatMap((each) => ["-c", each])];
	const server = spawn(join(programs, "postgres"), args, {
		...owner,
		cwd: folder,
		stdio: "ignore",
	});
	const url = `postgres://reeve@127.0.0.1:${port}/postgres`;
	for (let tries = 0; ; tries++) {
		const client = new pg.Client({ connectionString: url });
		client.on("error", () => {});
		try {
			await client.connect();
			return { url, client, pid: server.pid ?? 0, stop };
		} catch (error) {
			if (tries > 100) throw error;
			await sleep(100);
		}
	}

	async function stop() {
		const gone = new Promise((resolve) => server.once("exit", resolve));
		server.kill("SIGQUIT");
		await gone;
		rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
	}
}

/** CPU time of the server with all of its processes, those of closed connections too. */
function serverCpuMs(/** @type {number} */ pid) {
	let ticks = 0;
	for (const name of readdirSync("/proc")) {
		if (!/^\d+$/.test(name) || !existsSync(`/proc/${name}/stat`)) continue;
		let stat = "";
		try {
			stat = readFileSync(`/proc/${name}/stat`, "latin1");
		} catch {
			continue;
		}
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		if (Number(name) === pid) {
			// Its own time, and that of its processes that have ended.
			for (const at of [11, 12, 13, 14]) ticks += Number(fields[at]);
		} else if (Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
	}
	return (ticks * 1_000) / TICKS_PER_SECOND;
}

const server = await startServer();
const number = async (/** @type {string} */ text) =>
	Number(Object.values((await server.client.query(text)).rows[0] ?? {})[0] ?? 0);
const held = () =>
	number(
		"SELECT count(*) FROM reeve.leases WHERE boot IS NOT NULL AND expires_at > clock_timestamp()",
	);
const facts = async () => ({
	atMs: performance.now(),
	cpuMs: serverCpuMs(server.pid),
	transactions: await number(
		"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'",
	),
	rows: await number(
		"SELECT tup_returned + tup_fetched FROM pg_stat_database WHERE datname = 'postgres'",
	),
	walBytes: await number("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
	connections: await number(
		"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'reeve %'",
	),
});

/**
 * @param {Awaited<ReturnType<typeof facts>>} before
 * @param {Awaited<ReturnType<typeof facts>>} after
 */
const rates = (before, after) => {
	const seconds = (after.atMs - before.atMs) / 1_000;
	const per = (/** @type {"cpuMs" | "transactions" | "rows" | "walBytes"} */ key) =>
		(after[key] - before[key]) / seconds;
	return {
		transactions: per("transactions"),
		cores: per("cpuMs") / 1_000,
		rows: per("rows"),
		walBytes: per("walBytes"),
	};
};
const show = (/** @type {ReturnType<typeof rates>} */ { transactions, cores, rows, walBytes }) =>
	`${Math.round(transactions)} transactions/s, ${cores.toFixed(2)} cores, ${Math.round(rows)} rows read/s, ${(walBytes / 1_024 / 1_024).toFixed(2)} MiB/s of WAL`;

for (const signal of ["SIGINT", "SIGTERM"]) {
	process.once(signal, () => void server.stop().finally(() => process.exit(1)));
}
const processes = Array.from({ length: PROCESSES }, () =>
	fork(new URL("./scale/hosts.mjs", import.meta.url)),
);
try {
	const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
	const load = readFileSync("/proc/loadavg", "utf8").split(" ")[0];
	console.log(
		`${HOSTS} hosts × ${AGENTS} agents, groups of ${SHARE} hosts, lease ${LEASE_MS / 1_000} s; commit ${commit}; ${cpus().length} cores (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, node ${process.version}, ${(await server.client.query("SHOW server_version")).rows[0].server_version}; load before ${load}`,
	);
	const perProcess = Math.ceil(HOSTS / PROCESSES);
	const startedMs = performance.now();
	processes.forEach((child, at) => {
		const first = at * perProcess;
		const hosts = Math.max(0, Math.min(perProcess, HOSTS - first));
		const plan = { url: server.url, first, hosts, agents: AGENTS, share: SHARE, leaseMs: LEASE_MS };
		child.send({ start: plan });
	});
	let peak = 0;
	const waitFor = async (
		/** @type {() => Promise<boolean>} */ holds,
		/** @type {number} */ withinMs,
	) => {
		const untilMs = performance.now() + withinMs;
		while (!(await holds().catch(() => false))) {
			if (performance.now() > untilMs) throw new Error("waited too long");
			await sleep(250);
			peak = Math.max(peak, (await facts()).connections);
		}
	};
	const beforeStart = await facts();
	await waitFor(async () => (await held()) === HOSTS * AGENTS, 600_000);
	const startMs = performance.now() - startedMs;
	console.log(
		`start of all at once: ${HOSTS * AGENTS} leases held after ${(startMs / 1_000).toFixed(1)} s; ${show(rates(beforeStart, await facts()))}; at most ${peak} connections`,
	);

	await sleep(10_000);
	const beforeIdle = await facts();
	await sleep(SECONDS * 1_000);
	const idle = rates(beforeIdle, await facts());
	console.log(
		`idle, ${SECONDS} s: ${show(idle)}; ${(await facts()).connections} connections; ${await held()} leases held`,
	);

	peak = 0;
	const lost = Array.from({ length: LOST }, (_, at) => Math.floor((at * HOSTS) / LOST));
	const homes = lost.map((each) => `'home-${each}'`).join();
	const epochs = await number("SELECT sum(epoch) FROM reeve.leases");
	const moved = await number(`SELECT count(*) FROM reeve.leases WHERE home IN (${homes})`);
	const beforeLoss = await facts();
	const lossMs = performance.now();
	for (const child of processes) child.send({ kill: lost });
	/** @type {number[]} */
	const done = [];
	let busiest = idle;
	let last = beforeLoss;
	await waitFor(async () => {
		const now = await facts();
		if (now.atMs - last.atMs >= 1_000) {
			const rate = rates(last, now);
			if (rate.transactions > busiest.transactions) busiest = rate;
			last = now;
		}
		const left = await number(
			`SELECT count(*) FROM reeve.leases WHERE home IN (${homes}) OR boot IS NULL`,
		);
		while (done.length < moved - left) done.push(performance.now() - lossMs);
		return left === 0 && (await held()) === HOSTS * AGENTS;
	}, 300_000);
	const at = (/** @type {number} */ share) =>
		((done[Math.min(done.length - 1, Math.floor(done.length * share))] ?? 0) / 1_000).toFixed(1);
	// An assignment and a claim for each.
	const extra = (await number("SELECT sum(epoch) FROM reeve.leases")) - epochs - 2 * moved;
	console.log(
		`loss of ${LOST} hosts at once: ${moved} agents taken over, half after ${at(0.5)} s, 99 % after ${at(0.99)} s, all after ${at(1)} s; ${extra} superfluous changes of holders; ${show(rates(beforeLoss, await facts()))} until then, busiest second ${show(busiest)}; at most ${peak} connections`,
	);
	const [spread] = (
		await server.client.query(
			"SELECT min(n) AS min, max(n) AS max FROM (SELECT count(*) AS n FROM reeve.leases GROUP BY home) AS x",
		)
	).rows;
	console.log(`leases per host afterwards: ${spread.min} to ${spread.max}`);
} finally {
	for (const child of processes) child.disconnect();
	await server.client.end();
	await server.stop();
}
