/**
 * Measures how many times per second the list of 500 agents can be requested: a real daemon with 500
 * running agents, over the network, with keep-alive. One response is read and counted, to verify the
 * request. Side by side with the smallest request (`/health`) on the same connections, and with a
 * client that already has the list (`if-none-match`). On a busy machine the second column matters:
 * requests per second of the daemon's own CPU time.
 *
 * `node bench/api.mjs [--agents 500] [--seconds 5] [--connections 8] [--assert 500]`
 */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
	options: {
		agents: { type: "string", default: "500" },
		seconds: { type: "string", default: "5" },
		connections: { type: "string", default: "8" },
		assert: { type: "string" },
	},
});
const REEVE = resolve("dist/cli/main.js");
const folder = mkdtempSync(join(tmpdir(), "reeve-bench-"));
const env = { ...process.env, REEVE_HOME: join(folder, "home"), HOME: folder };

/** @param {string[]} args */
function reeve(...args) {
	const { status, stdout, stderr } = spawnSync(process.execPath, [REEVE, ...args], {
		cwd: folder,
		env,
		encoding: "utf8",
		maxBuffer: 64 * 1_048_576,
	});
	if (status !== 0) throw new Error(`reeve ${args.join(" ")} gave ${status}: ${stdout}${stderr}`);
	return stdout;
}

/**
 * @param {Agent} agent
 * @param {import("node:http").RequestOptions} options
 */
async function ask(agent, options) {
	const sent = request({ ...options, agent });
	sent.end();
	const [response] = /** @type {[import("node:http").IncomingMessage]} */ (
		await once(sent, "response")
	);
	let bytes = 0;
	for await (const chunk of response) bytes += chunk.length;
	return { status: response.statusCode, bytes, etag: response.headers.etag };
}

/** Processor time that a process has used, in ticks of 10 ms. @param {number} pid */
function processorMs(pid) {
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
		.replace(/^.*\) /, "")
		.split(" ");
	return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** @param {number} pid */
function pssMb(pid) {
	const pss = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
	return (Number(pss) / 1_024).toFixed(0);
}

/**
 * @param {string} what
 * @param {import("node:http").RequestOptions} options
 * @param {number} status
 * @param {number} pid
 */
async function measure(what, options, status, pid) {
	const connections = Number(values.connections);
	const agent = new Agent({ keepAlive: true, maxSockets: connections });
	const { bytes } = await ask(agent, options);
	const untilMs = performance.now() + Number(values.seconds) * 1_000;
	const [startedMs, usedMs] = [performance.now(), processorMs(pid)];
	let requests = 0;
	const worker = async () => {
		while (performance.now() < untilMs) {
			const answer = await ask(agent, options);
			if (answer.status !== status) throw new Error(`${what} gave ${answer.status}`);
			requests += 1;
		}
	};
	await Promise.all(Array.from({ length: connections }, worker));
	const perSecond = requests / ((performance.now() - startedMs) / 1_000);
	const perCore = requests / ((processorMs(pid) - usedMs) / 1_000);
	agent.destroy();
	const figures = [perSecond, perCore].map((each) => each.toFixed(0).padStart(6));
	console.log(
		`${what.padEnd(24)} ${figures[0]}/s ${figures[1]}/s of one core  ${bytes} bytes each`,
	);
	return Math.max(perSecond, perCore);
}

async function main() {
	const count = Number(values.agents);
	const names = Array.from({ length: count }, (_, index) => `      a${index}: *sleeper`);
	names[0] = "      a0: &sleeper { command: [sleep, '100000'], backend: pty, terminal: false }";
	const head = "version: 1\nprojects:\n  bench:\n    agents:";
	writeFileSync(join(folder, "reeve.yaml"), `${head}\n${names.join("\n")}\n`);
	reeve("daemon", "start", "--listen", "127.0.0.1:0");
	reeve("up", "--all");
	const { url, pid } = JSON.parse(reeve("daemon", "status", "--json"));
	const { hostname: host, port } = new URL(url);
	const headers = { authorization: `Bearer ${reeve("token", "show").trim()}` };
	const list = { host, port, path: "/api/v1/agents", headers };
	const { etag = "" } = await ask(new Agent(), list);
	const known = { ...list, headers: { ...headers, "if-none-match": etag } };
	const before = pssMb(pid);
	const perSecond = await measure(`${count} agents`, list, 200, pid);
	await measure(`${count} agents, unchanged`, known, 304, pid);
	await measure("/health", { host, port, path: "/health" }, 200, pid);
	console.log(`daemon: ${before} MB (PSS) before, ${pssMb(pid)} MB after`);
	return values.assert !== undefined && perSecond < Number(values.assert) ? 1 : 0;
}

try {
	process.exitCode = await main();
} finally {
	reeve("daemon", "stop", "--all");
	rmSync(folder, { recursive: true, force: true });
}
