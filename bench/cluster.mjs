/**
 * Shared tasks of a cluster beside bare DBOS and BullMQ, in one run: how many trivial tasks a second, and how long one
 * takes, with many callers that each wait for the end of theirs. No agent is started: every subject answers with the
 * payload in its own process. PostgreSQL is Debian's, with a data folder of its own and its defaults for durability.
 *
 *   npm run bench:cluster -- [--tasks 5000] [--callers 100] [--rounds 3]
 */

import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { startBenchPostgres } from "./cluster/postgres.mjs";
import { installPeers } from "./peers/install.mjs";
import { median, until, World } from "./peers/world.mjs";

const { values } = parseArgs({
	options: {
		tasks: { type: "string", default: "5000" },
		callers: { type: "string", default: "100" },
		rounds: { type: "string", default: "3" },
	},
});
const [tasks = 0, callers = 0, rounds = 0] = [values.tasks, values.callers, values.rounds].map(
	Number,
);
if (![tasks, callers, rounds].every((each) => each > 0)) {
	console.error("Numbers must be positive.");
	process.exit(2);
}

/** @typedef {{ rate: number, p50: number, p99: number }} Figures */

/** @param {string} subject @param {string[]} args @returns {Figures} */
function run(subject, ...args) {
	const program = resolve(`bench/cluster/${subject}.mjs`);
	const numbers = [String(tasks), String(callers)];
	/** @type {import("node:child_process").StdioOptions} */
	const stdio = ["ignore", "pipe", "inherit"];
	return JSON.parse(
		execFileSync(process.execPath, [program, ...numbers, ...args], { encoding: "utf8", stdio }),
	);
}

const peers = installPeers();
const postgres = await startBenchPostgres();
const redisWorld = new World("redis");
Object.assign(redisWorld.env, peers.env);
/** @type {Record<string, Figures[]>} */
const all = { reeve: [], dbos: [], bullmq: [] };
try {
	const socket = redisWorld.file("r.sock");
	const redis = redisWorld.start(peers.redis, [
		...["--port", "0", "--unixsocket", socket, "--dir", redisWorld.folder, "--save", ""],
		...["--appendonly", "yes", "--appendfsync", "always"],
	]);
	redis.stdout?.resume();
	await until(() => redisWorld.processes().length > 0, "redis");
	for (let round = 1; round <= rounds; round++) {
		for (const subject of ["reeve", "dbos"]) {
			const url = await postgres.createDatabase(`${subject}_${round}`);
			all[subject]?.push(run(subject, url));
		}
		all["bullmq"]?.push(run("bullmq", peers.folder, socket));
	}
} finally {
	await redisWorld.close();
	await postgres.stop();
}

console.log(
	`${tasks} tasks, ${callers} callers, medians of ${rounds} rounds, node ${process.version}`,
);
for (const [subject, figures] of Object.entries(all)) {
	/** @param {keyof Figures} name */
	const of = (name) => median(figures.map((each) => each[name]));
	const text = `${Math.round(of("rate"))} tasks/s, p50 ${of("p50").toFixed(0)} ms, p99 ${of("p99").toFixed(0)} ms`;
	console.log(`  ${subject.padEnd(7)} ${text}`);
}
const ratios = (all["reeve"] ?? []).map(({ rate }, at) => rate / (all["dbos"]?.[at]?.rate ?? 1));
console.log(
	`  reeve / dbos: ${median(ratios).toFixed(2)}, in each round ${ratios.map((each) => each.toFixed(2)).join(", ")}`,
);
