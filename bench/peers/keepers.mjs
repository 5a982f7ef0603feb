/** The supervisors that are compared, each behind the same interface. */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { which } from "./install.mjs";
import { isAlive, until, World } from "./world.mjs";

const REEVE = resolve("dist/cli/main.js");

/**
 * @typedef {object} Keeper
 * @property {string} name
 * @property {boolean} respawns
 * @property {(world: World) => void | Promise<void>} prepare everything that is not part of the start
 * @property {(world: World, count: number) => unknown} start
 * @property {((world: World) => unknown) | null} list its `ps`
 * @property {(world: World) => unknown} stop all agents, and returns when they are reported as gone
 * @property {(world: World) => Promise<void>} [adopt] kills the daemon with -9 and starts another
 */

/** @param {number} count */
const names = (count) => Array.from({ length: count }, (_, n) => `a${n}`);

/**
 * @param {World} world
 * @param {string[]} args
 */
export function reeve(world, ...args) {
	world.env["REEVE_HOME"] = world.file("home");
	return world.run(process.execPath, [REEVE, ...args]);
}

/** @param {World} world */
export const daemonPid = (world) => JSON.parse(reeve(world, "daemon", "status", "--json")).pid;

/**
 * @param {"pty" | "tmux"} backend
 * @returns {Keeper}
 */
function reeveKeeper(backend) {
	return {
		name: `Reeve ${backend}`,
		respawns: true,
		prepare: (world) => void reeve(world, "daemon", "start"),
		start(world, count) {
			const policy = "transient_delay: 0s, flapping_delay: 0s, jitter: 0, flap_threshold: 10";
			const agents = names(count).map(
				(name) => `      ${name}: { command: ${JSON.stringify(world.agent(name))} }`,
			);
			const head = `version: 1\ndefaults: { backend: ${backend}, crash_policy: { ${policy} } }\n`;
			writeFileSync(
				world.file("reeve.yaml"),
				`${head}projects:\n  p:\n    agents:\n${agents.join("\n")}\n`,
			);
			reeve(world, "up", "--all");
		},
		list: (world) => reeve(world, "ps"),
		stop: (world) => reeve(world, "down", "--all"),
		async adopt(world) {
			const pid = daemonPid(world);
			process.kill(pid, "SIGKILL");
			await until(() => !isAlive(pid), "the end of the daemon");
			reeve(world, "daemon", "start");
			/** @type {{ process: string }[]} */
			const agents = JSON.parse(reeve(world, "ps", "--json"));
			const lost = agents.filter((agent) => agent.process !== "running").length;
			if (lost > 0) throw new Error(`${lost} agents were not adopted`);
		},
	};
}

/**
 * @param {import("./install.mjs").Peers} peers
 * @returns {Keeper}
 */
function pm2Keeper(peers) {
	/**
	 * @param {World} world
	 * @param {string[]} args
	 */
	const pm2 = (world, ...args) => {
		world.env["PM2_HOME"] = world.file("pm2");
		return world.run(process.execPath, [peers.pm2, ...args]);
	};
	return {
		name: "pm2",
		respawns: true,
		prepare: (world) => void pm2(world, "ping"),
		start(world, count) {
			const apps = names(count).map((name) => {
				const [script, ...args] = world.agent(name);
				return { name, script, args, interpreter: "none", autorestart: true, cwd: world.folder };
			});
			writeFileSync(world.file("apps.json"), JSON.stringify({ apps }));
			pm2(world, "start", world.file("apps.json"));
		},
		list: (world) => pm2(world, "ls"),
		stop: (world) => pm2(world, "stop", "all"),
	};
}

/**
 * @param {import("./install.mjs").Peers} peers
 * @returns {Keeper}
 */
function supervisordKeeper(peers) {
	/**
	 * @param {World} world
	 * @param {string} program
	 * @param {string[]} args
	 */
	const run = (world, program, ...args) => {
		Object.assign(world.env, peers.env);
		const all = [which(program), "-c", world.file("supervisord.conf"), ...args];
		const { status, stdout, stderr } = spawnSync("python3", all, {
			...{ cwd: world.folder, env: world.env, encoding: "utf8", maxBuffer: 1e9 },
			...{ timeout: 180_000, killSignal: "SIGKILL" },
		});
		// `status` exits with 3 when an agent does not run.
		if (status !== 0 && status !== 3) throw new Error(`${program}: ${stdout}${stderr}`);
	};
	return {
		name: "supervisord",
		respawns: true,
		prepare() {},
		start(world, count) {
			writeFileSync(
				world.file("supervisord.conf"),
				renderSupervisord(
					world,
					names(count).map((name) => [name, world.agent(name)]),
				),
			);
			run(world, peers.supervisord);
		},
		list: (world) => run(world, peers.supervisorctl, "status"),
		stop: (world) => run(world, peers.supervisorctl, "stop", "all"),
	};
}

/**
 * @param {World} world
 * @param {[name: string, command: string[]][]} programs
 */
export function renderSupervisord(world, programs) {
	const socket = world.file("s.sock");
	const head = `[supervisord]
logfile=${world.file("supervisord.log")}
pidfile=${world.file("supervisord.pid")}
childlogdir=${world.folder}
minfds=4096
[unix_http_server]
file=${socket}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://${socket}
`;
	const sections = programs.map(
		([name, command]) =>
			`[program:${name}]\ncommand=${command.join(" ")}\nautorestart=${name !== "flood"}\nstartsecs=0\nstartretries=100000\nredirect_stderr=true\n`,
	);
	return head + sections.join("");
}

/**
 * @param {import("./install.mjs").Peers} peers
 * @returns {Keeper}
 */
function tmuxKeeper({ tmux }) {
	const at = (/** @type {World} */ world) => [
		"-S",
		join(world.folder, "t.sock"),
		"-f",
		"/dev/null",
	];
	return {
		name: "bare tmux",
		respawns: false,
		prepare() {},
		/** Sessions on one control connection, and nothing around them. */
		start(world, count) {
			const client = world.start(tmux, [...at(world), "-C", "new-session", "-s", "first"]);
			client.stdout?.resume();
			for (const name of names(count)) {
				const command = `exec ${world.agent(name).join(" ")}`;
				client.stdin?.write(`new-session -d -s ${name} '${command}'\n`);
			}
		},
		list: (world) => world.run(tmux, [...at(world), "list-sessions"]),
		stop: (world) => world.run(tmux, [...at(world), "kill-server"]),
	};
}

/** @returns {Keeper} */
function nodeKeeper() {
	/** @type {Map<World, import("node:child_process").ChildProcess>} */
	const loops = new Map();
	return {
		name: "minimal Node loop",
		respawns: true,
		prepare() {},
		start(world, count) {
			const [, script = ""] = world.agent("");
			const program = resolve("bench/peers/node-loop.mjs");
			const loop = world.start(process.execPath, [program, script, world.ledger, String(count)]);
			loops.set(world, loop);
		},
		list: null,
		stop(world) {
			const loop = loops.get(world);
			loop?.kill("SIGTERM");
			return until(() => loop?.exitCode !== null, "the end of the loop");
		},
	};
}

/**
 * @param {import("./install.mjs").Peers} peers
 * @returns {Keeper[]}
 */
export function createKeepers(peers) {
	return [
		reeveKeeper("pty"),
		reeveKeeper("tmux"),
		pm2Keeper(peers),
		supervisordKeeper(peers),
		tmuxKeeper(peers),
		nodeKeeper(),
	];
}
