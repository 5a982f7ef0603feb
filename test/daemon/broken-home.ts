/**
 * A home whose daemon can be made to fail, with real processes. It is asked through the client, within
 * this process: a command of its own for each question would take most of the time.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureDaemon } from "../../src/cli/daemon-process.js";
import { type Client, createClient } from "../../src/client/client.js";
import type { CrashReport } from "../../src/home/crash-reports.js";
import { type Home, resolveHome } from "../../src/home/paths.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";

/** A value that is only in the daemon's environment. */
export const CANARY = "canary-daemon-41ce";
const FIXTURES = pathToFileURL(resolve("test/fixtures/daemon")).href;
const DAEMON = resolve("dist/daemon/main.js");

export interface BrokenHome {
	readonly fleet: FleetHome;
	readonly home: Home;
	readonly client: Client;
	/** Starts a daemon as `reeve daemon start` does. */
	start(): Promise<void>;
	/** Starts one as a child of this process, and waits until it answers. */
	startChild(): Promise<DaemonChild>;
	/** Starts one under a small service manager; the result contains its exits so far. */
	startKept(): Promise<{ ends(): string; stop(): Promise<void> }>;
	status(): Promise<DaemonJson>;
	answers(): Promise<boolean>;
	/** The pids of all agents, in order. */
	pids(): Promise<readonly (number | null)[]>;
	/** Makes the daemon fail. */
	breakDaemon(how: "throw" | "reject" | "block" | "memory"): Promise<void>;
	/** `kill -9`. */
	kill(): Promise<void>;
	/** Waits until no daemon responds. */
	gone(): Promise<void>;
	/** Its crash reports, oldest first. */
	reports(): readonly {
		readonly text: string;
		readonly path: string;
		readonly report: CrashReport;
	}[];
	log(): string;
	close(): Promise<void>;
}

export function createBrokenHome(
	more: Readonly<Record<string, string>> = {},
	preload = "breaks-on-signal.mjs",
): BrokenHome {
	const { NODE_OPTIONS: options = "", ...others } = more;
	const fleet = createFleetHome({
		...{ PATH: process.env["PATH"] ?? "", CANARY_KEY: CANARY },
		...{ NODE_OPTIONS: `--import ${FIXTURES}/${preload} ${options}`, ...others },
	});
	const breaks = join(fleet.folder, "breaks");
	fleet.env["BREAKS"] = breaks;
	const home = resolveHome(fleet.env);
	mkdirSync(home.dir, { mode: 0o700 });
	const client = createClient({ socketPath: home.socket });
	const status = () => client.call("GET /api/v1/daemon");
	const start = async () => void (await ensureDaemon({ home, env: fleet.env, program: DAEMON }));
	const answers = () =>
		status().then(
			() => true,
			() => false,
		);
	const gone = () => eventually(async () => !(await answers()), "the daemon is gone");
	return {
		...{ fleet, home, client, start, status, answers, gone },
		async startChild() {
			const child = spawnDaemon(fleet.env);
			await eventually(answers, "the daemon answers");
			return child;
		},
		async startKept() {
			const ledger = join(fleet.folder, "ends");
			const program = resolve("test/fixtures/daemon/keeps-daemon.mjs");
			const keeper = spawn(process.execPath, [program, DAEMON, ledger], {
				...{ env: fleet.env, stdio: "ignore" },
			});
			const over = new Promise<void>((resolve) => keeper.once("exit", () => resolve()));
			await eventually(answers, "the daemon answers");
			return {
				ends: () => (existsSync(ledger) ? readFileSync(ledger, "utf8") : ""),
				async stop() {
					keeper.kill("SIGTERM");
					await over;
				},
			};
		},
		pids: async () => (await client.call("GET /api/v1/agents")).agents.map(({ pid }) => pid),
		async breakDaemon(how) {
			writeFileSync(breaks, how);
			process.kill((await status()).pid, "SIGUSR2");
		},
		async kill() {
			process.kill((await status()).pid, "SIGKILL");
			await gone();
		},
		reports: () =>
			namesIn(home.crashes).map((name) => {
				const path = join(home.crashes, name);
				const text = readFileSync(path, "utf8");
				return { text, path, report: JSON.parse(text) as CrashReport };
			}),
		log: () => readFileSync(home.daemonLog, "utf8"),
		async close() {
			// Without a fleet a daemon has nothing to stop.
			const mayHaveAgents = existsSync(join(fleet.folder, "reeve.yaml"));
			if (!(await answers()) && mayHaveAgents) await start();
			if (await answers()) {
				await client.call("POST /api/v1/daemon/stop", { body: { all: true } });
				await gone();
			}
			rmSync(fleet.folder, { recursive: true, force: true, maxRetries: 40, retryDelay: 100 });
		},
	};
}

function namesIn(folder: string): string[] {
	try {
		return readdirSync(folder).sort();
	} catch {
		return [];
	}
}

export type DaemonChild = ReturnType<typeof spawnDaemon>;

/** The daemon's program as a child of this process. */
function spawnDaemon(env: Readonly<Record<string, string>>) {
	const child = spawn(process.execPath, [DAEMON], { env, stdio: ["ignore", "ignore", "pipe"] });
	child.stderr.resume();
	const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
		child.once("exit", (code, signal) => resolve({ code, signal }));
	});
	return { child, ended };
}
