/**
 * A fleet of real programs under a real daemon, in a home of its own. The oracle is not the daemon: each
 * agent takes a lock on its own name and writes its starts and exits into a ledger.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { killStrays } from "../support/kill-strays.js";
import { type Ran, runReeve } from "../support/reeve.js";

export interface FleetHome {
	readonly folder: string;
	readonly env: Record<string, string>;
	reeve(...args: string[]): Promise<Ran>;
	/** Like `reeve`, but a failure is an error. */
	must(...args: string[]): Promise<string>;
	ps(): Promise<readonly AgentJson[]>;
	daemonPid(): Promise<number>;
	/** `kill -9` of the daemon, and nothing else. */
	killDaemon(): Promise<void>;
	/** The ledger's lines: `start NAME PID`, `exit NAME PID`, `DUPLICATE NAME PID`. */
	ledger(): readonly string[];
	writeFleet(agents: string, file?: string): void;
	/** Stops everything and removes the folder. */
	close(): Promise<void>;
}

export function createFleetHome(
	more: Readonly<Record<string, string>> = {},
	folder = mkdtempSync(join(tmpdir(), "reeve-fleet-")),
): FleetHome {
	const env: Record<string, string> = { REEVE_HOME: join(folder, "home"), HOME: folder, ...more };
	const reeve = (...args: string[]) => runReeve(args, { cwd: folder, env });
	const must = async (...args: string[]) => {
		const { code, stdout, stderr } = await reeve(...args);
		if (code !== 0) throw new Error(`reeve ${args.join(" ")} gave ${code}: ${stdout}${stderr}`);
		return stdout;
	};
	const daemonPid = async () =>
		(JSON.parse(await must("daemon", "status", "--json")) as DaemonJson).pid;
	return {
		...{ folder, env, reeve, must, daemonPid },
		ps: async () => JSON.parse(await must("ps", "--json")) as AgentJson[],
		async killDaemon() {
			process.kill(await daemonPid(), "SIGKILL");
			await eventually(
				async () => (await reeve("daemon", "status")).code === 3,
				"the daemon is gone",
			);
		},
		ledger() {
			try {
				return readFileSync(join(folder, "ledger"), "utf8").trim().split("\n");
			} catch {
				return [];
			}
		},
		writeFleet(agents, file = "reeve.yaml") {
			const indented = agents.replace(/^/gm, "      ");
			writeFileSync(join(folder, file), `version: 1\nprojects:\n  p:\n    agents:\n${indented}\n`);
		},
		async close() {
			// A test may have left its agents without a daemon.
			try {
				await reeve("daemon", "start");
				await reeve("daemon", "stop", "--all");
			} finally {
				killStrays(folder);
			}
			rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
		},
	};
}

/** The line of an agent that notes its starts and exits in the ledger. */
export function lockedAgent(folder: string, name: string, more = ""): string {
	const program = resolve("test/fixtures/agents/takes-a-lock.mjs");
	const argv = JSON.stringify([process.execPath, program, folder, name]);
	return `${name}: { command: ${argv}${more} }`;
}

/** Polls until the condition holds; a failure names it. */
export async function eventually(
	holds: () => Promise<boolean> | boolean,
	what: string,
	withinMs = 60_000,
	everyMs = 50,
): Promise<void> {
	const untilMs = performance.now() + withinMs;
	while (!(await holds())) {
		if (performance.now() > untilMs) throw new Error(`waited too long: ${what}`);
		await sleep(everyMs);
	}
}
