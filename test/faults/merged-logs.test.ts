/**
 * The merged logs of many agents under load: nothing is lost, repeated or reordered within one agent,
 * across rotations, restarts of agents, and daemons that are killed.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { REEVE } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

/** Long form: REEVE_LOG_LINES=40000 REEVE_LOG_KILLS=10. */
const LINES = Number(process.env["REEVE_LOG_LINES"] ?? 300);
const KILLS = Number(process.env["REEVE_LOG_KILLS"] ?? 2);
const AGENTS = 20;
/** These print enough for several files. */
const LOUD = 2;
const LOUD_LINES = Math.max(LINES, 14_000);

let fleet: FleetHome | null = null;
afterEach(() => fleet?.close());

/** Prints numbered lines in bursts, then waits. */
const counter = (lines: number, filler: number) =>
	`let n = 0; const more = () => { for (let i = 0; i < ${Math.ceil(lines / 60)} && n < ${lines}; i++) console.log('<' + process.pid + ':' + ++n + '>' + 'x'.repeat(${filler})); setTimeout(more, 100); }; more()`;

test("20 agents: every line of each run arrives once and in order", {
	timeout: 600_000 + LINES * 30,
}, async () => {
	fleet = createFleetHome();
	const names = Array.from({ length: AGENTS }, (_, n) => `a${n}`);
	fleet.writeFleet(
		names
			.map((name, n) => {
				const code = n < LOUD ? counter(LOUD_LINES, 1_200) : counter(LINES, 60);
				return `${name}: { backend: pty, terminal: ${n % 2 === 1}, command: [node, -e, ${JSON.stringify(code)}] }`;
			})
			.join("\n"),
	);
	await fleet.must("up");
	const child = spawn(process.execPath, [REEVE, "logs", "-f", "-n", "1000000", "--json"], {
		...{ cwd: fleet.folder, env: { PATH: process.env["PATH"], ...fleet.env } },
		stdio: ["ignore", "pipe", "pipe"],
	});
	/** By agent and run: the last number. Anything else than the next one is a finding. */
	const seen = new Map<string, number>();
	const runs = new Map<string, Set<string>>();
	const findings: string[] = [];
	let [lines, errors, back] = [0, "", 0];
	child.stderr.on("data", (chunk) => {
		errors += chunk;
	});
	createInterface({ input: child.stdout }).on("line", (text) => {
		const { id, line = "", at, error } = JSON.parse(text);
		if (error !== undefined) return void findings.push(JSON.stringify(error));
		if (Number.isNaN(Date.parse(at))) findings.push(`${id}: no time`);
		for (const [, pid = "", number] of line.matchAll(/<(\d+):(\d+)>/g)) {
			lines += 1;
			const run = `${id} ${pid}`;
			runs.set(id, (runs.get(id) ?? new Set()).add(pid));
			const expected = (seen.get(run) ?? 0) + 1;
			if (Number(number) !== expected) findings.push(`${run}: ${number} instead of ${expected}`);
			seen.set(run, Number(number));
		}
	});
	try {
		for (let kill = 1; kill <= KILLS; kill++) {
			const before = lines;
			await eventually(() => lines > before + 500, "lines arrive");
			await fleet.killDaemon();
			await fleet.must("daemon", "start");
			back = kill;
			await eventually(() => errors.split("reconnected after").length - 1 >= back, "it reconnects");
			await fleet.must("restart", `p:a${AGENTS - kill}`);
		}
		const done = () =>
			names.every((name, n) => {
				const wanted = n < LOUD ? LOUD_LINES : LINES;
				const last = [...(runs.get(`p:${name}`) ?? [])].at(-1);
				return last !== undefined && seen.get(`p:${name} ${last}`) === wanted;
			});
		await eventually(done, "every agent's last line has arrived", 300_000 + LINES * 20);
		expect(findings.slice(0, 10)).toEqual([]);
		const restarted = names.filter((name) => (runs.get(`p:${name}`)?.size ?? 0) > 1);
		expect(restarted.length).toBeGreaterThanOrEqual(KILLS);
		expect(errors).not.toContain("was removed");
		console.log(`${lines} lines of ${AGENTS} agents in order; ${KILLS} daemons killed`);
	} finally {
		child.kill("SIGINT");
		await once(child, "close");
	}
});
