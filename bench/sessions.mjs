/**
 * Many sessions: how long they take to start beside bare tmux sessions on one control connection, how long a
 * killed daemon's successor takes to adopt them, what `reeve ps` costs beside `node -e 0`, and what daemon and
 * backend use while nothing happens. Everything in one run, in a folder that is gone afterwards.
 *
 *   npm run bench:sessions -- [--agents 500] [--backend tmux] [--attended]
 *
 * With `--attended` they pass for Claude Code: their records and screens are looked at every second.
 */

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const { values } = parseArgs({
	options: {
		agents: { type: "string", default: "500" },
		backend: { type: "string", default: "tmux" },
		attended: { type: "boolean", default: false },
	},
});
const count = Number(values.agents);
const folder = mkdtempSync(join(tmpdir(), "reeve-bench-"));
const env = { PATH: process.env["PATH"] ?? "", HOME: folder, REEVE_HOME: join(folder, "home") };

/** @param {string[]} args */
function reeve(...args) {
	const ran = spawnSync(process.execPath, [join(process.cwd(), "dist/cli/main.js"), ...args], {
		cwd: folder,
		env,
		encoding: "utf8",
		maxBuffer: 1e9,
	});
	if (ran.status !== 0) throw new Error(`reeve ${args.join(" ")}: ${ran.stdout}${ran.stderr}`);
	return ran.stdout;
}

/** @param {() => unknown} act */
async function timeMs(act) {
	const startedMs = performance.now();
	await act();
	return performance.now() - startedMs;
}

/** @param {number[]} times */
function median(times) {
	return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

/** Sessions on one control connection, and nothing around them. */
async function bareTmux() {
	const socket = join(folder, "bare.sock");
	const tmux = ["-S", socket, "-f", "/dev/null"];
	const client = spawn("tmux", [...tmux, "-C", "new-session", "-s", "first"], {
		env,
		stdio: "pipe",
	});
	let said = "";
	let done = () => {};
	const all = new Promise((resolve) => {
		done = () => resolve(null);
	});
	client.stdout.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
		said += text;
		if (said.split("%end ").length > count) done();
	});
	const ms = await timeMs(() => {
		for (let n = 0; n < count; n++)
			client.stdin.write(`new-session -d -s s${n} 'exec sleep 600'\n`);
		return all;
	});
	spawnSync("tmux", [...tmux, "kill-server"], { env });
	return ms;
}

/** @returns {{ id: string, pid: number, process: string }[]} */
const ps = () => JSON.parse(reeve("ps", "--json"));
/** @returns {number} */
const daemonPid = () => JSON.parse(reeve("daemon", "status", "--json")).pid;

/** Proportional memory in MiB. @param {number} pid */
function pssMiB(pid) {
	const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
	return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? Number.NaN) / 1_024;
}

/** CPU time in ms. @param {number} pid */
function cpuMs(pid) {
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
	return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The daemon, and whatever in its home is no agent. */
function housePids() {
	const daemon = String(daemonPid());
	const { stdout } = spawnSync("ps", ["-eo", "pid=,args="], { encoding: "utf8", maxBuffer: 1e8 });
	return stdout
		.split("\n")
		.filter((line) => line.includes(env.REEVE_HOME) || line.trim().startsWith(`${daemon} `))
		.filter((line) => /tmux -u|holder-main|daemon\/main/.test(line))
		.map((line) => Number.parseInt(line, 10));
}

try {
	const agents = Array.from({ length: count }, (_, n) =>
		values.attended
			? `      a${n}: { adapter: claude, command: [sh, ${join(folder, "agent.sh")}] }`
			: `      a${n}: { command: [sleep, "600"] }`,
	);
	writeFileSync(
		join(folder, "reeve.yaml"),
		`version: 1\ndefaults: { backend: ${values.backend} }\nprojects:\n  p:\n    agents:\n${agents.join("\n")}\n`,
	);
	writeFileSync(join(folder, "agent.sh"), "printf '❯ '; exec sleep 600\n");
	const bareMs = await bareTmux();
	reeve("daemon", "start");
	const upMs = await timeMs(() => reeve("up"));
	const before = new Map(ps().map(({ id, pid }) => [id, pid]));
	process.kill(daemonPid(), "SIGKILL");
	await sleep(300);
	const adoptMs = await timeMs(() => reeve("daemon", "start"));
	const same = ps().filter(
		({ id, pid, process: state }) => state === "running" && before.get(id) === pid,
	);
	const nodeMs = [];
	const psMs = [];
	for (let n = 0; n < 9; n++) {
		nodeMs.push(await timeMs(() => spawnSync(process.execPath, ["-e", "0"])));
		psMs.push(await timeMs(() => reeve("ps")));
	}
	await sleep(2_000);
	const pids = housePids();
	const usedMs = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
	const fromMs = usedMs();
	await sleep(10_000);
	const idle = (usedMs() - fromMs) / 10_000;

	const ratio = (/** @type {number} */ a, /** @type {number} */ b) => `${(a / b).toFixed(2)}x`;
	console.log(`${count} agents on ${values.backend}, node ${process.version}`);
	console.log(`bare tmux sessions     ${bareMs.toFixed(0)} ms`);
	console.log(`reeve up               ${upMs.toFixed(0)} ms  ${ratio(upMs, bareMs)}`);
	console.log(`adopted after kill -9  ${adoptMs.toFixed(0)} ms, ${same.length} with the same pid`);
	console.log(`node -e 0              ${median(nodeMs).toFixed(0)} ms`);
	console.log(
		`reeve ps               ${median(psMs).toFixed(0)} ms  ${ratio(median(psMs), median(nodeMs))}`,
	);
	console.log(`idle CPU, ${pids.length} processes  ${(idle * 100).toFixed(2)} % of a core`);
	console.log(`daemon memory          ${pssMiB(daemonPid()).toFixed(0)} MiB PSS`);
} finally {
	try {
		reeve("daemon", "stop", "--all");
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
