/** How fast the output of one agent is taken and logged. */

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { which } from "./install.mjs";
import { reeve, renderSupervisord } from "./keepers.mjs";
import { until, World } from "./world.mjs";

/** @typedef {{ name: string, isTerminal?: boolean, start: (world: World, flood: string[]) => void }} Reader */

/** A terminal takes a twentieth of the rate of a pipe: the same rate shows with less output. */
const TERMINAL_SHARE = 4;

/**
 * @param {string} settings
 * @returns {Reader["start"]}
 */
const reeveReader = (settings) => (world, flood) => {
	const agent = `{ command: ${JSON.stringify(flood)}, on_clean_exit: stop, ${settings} }`;
	const text = `version: 1\nprojects:\n  p:\n    agents:\n      flood: ${agent}\n`;
	writeFileSync(world.file("reeve.yaml"), text);
	reeve(world, "up", "--all");
};

/**
 * @param {import("./install.mjs").Peers} peers
 * @returns {Reader[]}
 */
export function createReaders(peers) {
	return [
		{ name: "Reeve, no terminal", start: reeveReader("backend: pty, terminal: false") },
		{
			name: "supervisord",
			start(world, flood) {
				writeFileSync(world.file("supervisord.conf"), renderSupervisord(world, [["flood", flood]]));
				Object.assign(world.env, peers.env);
				world.run("python3", [which(peers.supervisord), "-c", world.file("supervisord.conf")]);
			},
		},
		{ name: "Reeve pty, terminal", isTerminal: true, start: reeveReader("backend: pty") },
		{ name: "Reeve tmux, terminal", isTerminal: true, start: reeveReader("backend: tmux") },
		{
			name: "bare tmux, pipe-pane",
			isTerminal: true,
			start(world, flood) {
				const at = ["-S", world.file("t.sock"), "-f", "/dev/null"];
				world.run(peers.tmux, [
					...at,
					"new-session",
					"-d",
					"-x",
					"200",
					"-y",
					"50",
					flood.join(" "),
				]);
				world.run(peers.tmux, [...at, "pipe-pane", "-o", `cat >> ${world.file("log")}`]);
			},
		},
	];
}

/**
 * In MB a second, from the first byte to the last.
 *
 * @param {Reader} reader
 * @param {number} megabytesMax
 */
export async function measureOutput({ start, isTerminal = false }, megabytesMax) {
	const megabytes = isTerminal ? megabytesMax / TERMINAL_SHARE : megabytesMax;
	const world = new World("output");
	try {
		const go = world.file("go");
		const script = resolve("bench/peers/flood.sh");
		const bytes = String(Math.round(megabytes * 1_048_576));
		start(world, ["/bin/bash", script, bytes, go, world.ledger]);
		writeFileSync(go, "");
		await until(() => world.started().some(({ name }) => name === "end"), "all output", 20);
		const at = new Map(world.started().map(({ name, atMs }) => [name, atMs]));
		return megabytes / (((at.get("end") ?? 0) - (at.get("begin") ?? 0)) / 1_000);
	} finally {
		await world.close();
	}
}
