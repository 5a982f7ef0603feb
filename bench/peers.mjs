/**
 * Reeve beside what people use instead, in one run: pm2, supervisord, bare tmux, a loop of a few lines of Node, and
 * BullMQ for tasks. The peers are installed into `~/.cache/reeve-bench` (or `REEVE_BENCH_CACHE`). It starts and ends its own
 * processes only and leaves nothing but that folder. A whole run writes docs/figures.md; one of a part prints it.
 *
 *   npm run bench:peers -- [--agents 500] [--rounds 5] [--only start,memory] [--tasks 10000] [--callers 200]
 *                          [--megabytes 1024] [--settle 20] [--keepers "Reeve pty,pm2"]
 *
 * Rows: start, memory, ps, respawn, all-killed, adopt, stop, output, tasks, call.
 */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { renderFigures } from "./peers/figures.mjs";
import { FLEET_ROWS, measureFleet } from "./peers/fleet.mjs";
import { installPeers } from "./peers/install.mjs";
import { createKeepers } from "./peers/keepers.mjs";
import { createReaders, measureOutput } from "./peers/output.mjs";
import { measureBullmqTasks, measureCalls, measureReeveTasks } from "./peers/tasks.mjs";
import { ageFileSystem, median } from "./peers/world.mjs";

const ROWS = [...FLEET_ROWS, "output", "tasks", "call"];
const { values } = parseArgs({
	options: {
		agents: { type: "string", default: "500" },
		rounds: { type: "string", default: "5" },
		only: { type: "string" },
		tasks: { type: "string", default: "10000" },
		callers: { type: "string", default: "200" },
		megabytes: { type: "string", default: "1024" },
		settle: { type: "string", default: "20" },
		keepers: { type: "string" },
	},
});
const [agents = 0, rounds = 0, tasks = 0, callers = 0, megabytes = 0, settle = 0] = [
	...[values.agents, values.rounds, values.tasks, values.callers, values.megabytes, values.settle],
].map(Number);
const only = values.only?.split(",") ?? ROWS;
const unknown = only.filter((row) => !ROWS.includes(row));
if (unknown.length > 0 || ![agents, rounds, tasks, callers, megabytes].every((each) => each > 0)) {
	console.error(`Numbers must be positive, and rows some of ${ROWS.join(", ")}.`);
	process.exit(2);
}
const wants = (/** @type {string} */ row) => only.includes(row);

/** Values of each round by subject and figure. @type {Record<"fleets" | "output" | "tasks", Record<string, Record<string, number[]>>>} */
const all = { fleets: {}, output: {}, tasks: {} };

/**
 * @param {keyof typeof all} group
 * @param {string} subject
 * @param {() => Promise<Record<string, number>>} measure
 */
async function measure(group, subject, measure) {
	const figures = all[group][subject] ?? {};
	all[group][subject] = figures;
	const fromMs = performance.now();
	console.error(`${clockTime()} ${group} of ${subject} …`);
	try {
		const found = await measure();
		for (const [name, value] of Object.entries(found))
			figures[name] = [...(figures[name] ?? []), value];
		const shown = Object.entries(found).map(([name, value]) => `${name} ${value.toFixed(1)}`);
		const seconds = Math.round((performance.now() - fromMs) / 1_000);
		console.error(`${clockTime()} ${subject}, ${seconds} s: ${shown.join(", ")}`);
	} catch (error) {
		// One subject that fails must not lose what the others took hours for.
		console.error(`${subject} FAILED: ${error instanceof Error ? error.message : error}`);
		process.exitCode = 1;
	}
}

function clockTime() {
	return new Date().toISOString().slice(11, 19);
}

/** A stop that takes this long is measured once: pm2 needs half a minute, and the same each time. */
const SLOW_STOP_MS = 10_000;

/** @param {import("./peers/install.mjs").Peers} peers */
async function runRound(peers) {
	const settleMs = settle * 1_000;
	const chosen = values.keepers?.split(",");
	const keepers = createKeepers(peers).filter(({ name }) => chosen?.includes(name) ?? true);
	if (FLEET_ROWS.some(wants)) {
		for (const keeper of keepers)
			await measure("fleets", keeper.name, () => {
				const [stopMs = 0] = all.fleets[keeper.name]?.["stop"] ?? [];
				const wantsAgain = (/** @type {string} */ row) =>
					wants(row) && !(row === "stop" && stopMs > SLOW_STOP_MS);
				return measureFleet(keeper, { count: agents, settleMs, wants: wantsAgain });
			});
	}
	if (wants("output")) {
		for (const reader of createReaders(peers))
			await measure("output", reader.name, async () => ({
				rate: await measureOutput(reader, megabytes),
			}));
	}
	if (wants("tasks")) {
		await measure("tasks", "Reeve", () => measureReeveTasks(tasks, callers, settleMs));
		await measure("tasks", "BullMQ", () => measureBullmqTasks(peers, tasks, callers));
	}
	if (wants("call")) await measure("tasks", "call", () => measureCalls(100));
}

/** @param {Record<string, Record<string, number[]>>} group */
const mediansOf = (group) =>
	Object.fromEntries(
		Object.entries(group).map(([subject, figures]) => [
			subject,
			Object.fromEntries(
				Object.entries(figures).map(([name, measured]) => [name, median(measured)]),
			),
		]),
	);

const peers = installPeers();
for (let round = 1; round <= rounds; round++) {
	console.error(`${clockTime()} round ${round} of ${rounds}`);
	ageFileSystem(Math.max(1_000, agents * 40));
	await runRound(peers);
}
const commit = execFileSync("git", ["describe", "--always", "--dirty"], {
	encoding: "utf8",
}).trim();
const page = renderFigures(
	{
		...{ fleets: mediansOf(all.fleets), output: mediansOf(all.output) },
		tasks: mediansOf(all.tasks),
	},
	{ agents, rounds, callers, megabytes, commit, versions: peers.versions },
	wants,
);
const isWhole = values.only === undefined && values.keepers === undefined;
if (isWhole && process.exitCode === undefined) writeFileSync("docs/figures.md", page);
console.log(page);
process.exit();
