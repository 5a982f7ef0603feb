/** The page of figures, from what was measured. */

import { cpus, release, totalmem } from "node:os";

/** @typedef {Record<string, Record<string, number>>} Measured medians by subject and figure */

/** @type {readonly (readonly [row: string, title: string, figure: string, unit: "ms" | "MB"])[]} */
const FLEET_TABLE = [
	["start", "start all, until the last one runs", "start", "ms"],
	["memory", "memory of everything but the agents (PSS)", "memory", "MB"],
	["ps", "list the agents", "ps", "ms"],
	["respawn", "kill one → respawned, median, delay 0", "respawn", "ms"],
	["respawn", "… of 25 kills, missed", "missed", "ms"],
	["all-killed", "kill all at once → all back", "all-killed", "ms"],
	["adopt", "`kill -9` of the daemon → all adopted, same pids, no duplicates", "adopt", "ms"],
	["stop", "stop all, proven gone", "stop", "ms"],
];

/**
 * @param {number | undefined} value
 * @param {string} unit
 */
function show(value, unit) {
	if (value === undefined || Number.isNaN(value)) return "–";
	if (unit === "MB") return `${value.toFixed(0)} MB`;
	return value >= 1_000
		? `${(value / 1_000).toFixed(2)} s`
		: `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

/**
 * @param {Measured} fleets
 * @param {(row: string) => boolean} wants
 */
function renderFleets(fleets, wants) {
	const subjects = Object.keys(fleets);
	const rows = FLEET_TABLE.filter(([row]) => wants(row)).map(([, title, figure, unit]) => {
		const cells = subjects.map((subject) => {
			const value = fleets[subject]?.[figure];
			return figure === "missed" ? (value === undefined ? "–" : String(value)) : show(value, unit);
		});
		return `| ${title} | ${cells.join(" | ")} |`;
	});
	const rule = `| --- |${subjects.map(() => " --- |").join("")}`;
	return [`| | ${subjects.join(" | ")} |`, rule, ...rows].join("\n");
}

/** @param {Measured} output */
function renderOutput(output) {
	const rows = Object.entries(output).map(
		([name, { rate }]) => `| ${name} | ${rate?.toFixed(0)} MB/s |`,
	);
	return ["| output of one agent, with log | |", "| --- | --- |", ...rows].join("\n");
}

/** @param {Measured} tasks */
function renderTasks({ Reeve: ours, BullMQ: theirs, call }) {
	const rows = [];
	const [rate, peer] = [ours?.["rate"], theirs?.["rate"]];
	const perSecond = (/** @type {number | undefined} */ value) =>
		value === undefined ? "–" : `${Math.round(value)}/s`;
	if (ours !== undefined) {
		const ratio = rate === undefined || peer === undefined ? "–" : `${(rate / peer).toFixed(2)}×`;
		rows.push(
			`| durable tasks through the API, callers that wait for each result | ${perSecond(rate)} |`,
			`| the same through BullMQ, \`appendfsync always\` | ${perSecond(peer)} |`,
			`| ratio | ${ratio} |`,
			`| memory of the daemon right afterwards, and when it has settled | ${show(ours["busyMb"], "MB")}, ${show(ours["memory"], "MB")} |`,
		);
	}
	if (call?.["bare"] !== undefined) {
		const { bare = Number.NaN, durable = Number.NaN } = call;
		rows.push(
			`| one durable call of a shell script, beside a bare spawn | ${durable.toFixed(2)} ms beside ${bare.toFixed(2)} ms, ${(durable / bare).toFixed(2)}× |`,
		);
	}
	return ["| tasks | |", "| --- | --- |", ...rows].join("\n");
}

/**
 * @param {object} found
 * @param {Measured} found.fleets
 * @param {Measured} found.output
 * @param {Measured} found.tasks
 * @param {object} about
 * @param {number} about.agents
 * @param {number} about.rounds
 * @param {number} about.callers
 * @param {number} about.megabytes
 * @param {string} about.commit
 * @param {Record<string, string>} about.versions
 * @param {(row: string) => boolean} wants
 */
export function renderFigures({ fleets, output, tasks }, about, wants) {
	const { agents, rounds, callers, megabytes, commit, versions } = about;
	const [cpu] = cpus();
	const machine = `${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`;
	const programs = Object.entries({ node: process.version.slice(1), ...versions })
		.map(([name, version]) => `${name} ${version}`)
		.join(", ");
	const parts = [
		"# Figures",
		`Written by \`npm run bench:peers\` on ${new Date().toISOString().slice(0, 10)} at commit ${commit}. ${machine}; ${programs}.`,
		`${agents} agents, ${callers} callers, ${megabytes} MB of output, a quarter of it through terminals. Each figure is the median of ${rounds} rounds; in each round every subject was measured in turn, after many files had been created and deleted. A stop of more than 10 s was measured in the first round only. Compare within a row: the machine decides the rest. Memory counts every process but the agents themselves. Reeve and bare tmux give each agent a terminal; pm2, supervisord and the loop of a few lines of Node (\`bench/peers/node-loop.mjs\`) do not.`,
	];
	if (Object.keys(fleets).length > 0) parts.push(renderFleets(fleets, wants));
	if (Object.keys(output).length > 0) parts.push(renderOutput(output));
	if (Object.keys(tasks).length > 0) parts.push(renderTasks(tasks));
	return `${parts.join("\n\n")}\n`;
}
