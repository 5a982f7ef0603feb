/**
 * `reeve demo`: the main features in a few seconds. It checks a valid and a broken fleet file, runs a
 * real crashing program under the crash policy until it is halted (delays are shown, not waited for),
 * and kills a real daemon while its agents run. Nothing is left behind.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../../client/client.js";
import { parseFleet } from "../../config/parse-fleet.js";
import { renderProblem } from "../../config/problem.js";
import { fleetToJson } from "../../config/spec-schema.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { decideAfterExit } from "../../core/crash-policy.js";
import { DEFAULT_CRASH_POLICY, NEW_AGENT } from "../../core/crash-state.js";
import { type ExitReport, exitReport } from "../../core/exit.js";
import type { RehearsalRow } from "../../core/rehearse.js";
import { resolveHome } from "../../home/paths.js";
import { ensureDaemon, waitForEnd } from "../daemon-process.js";
import type { Cli } from "../output.js";
import { policyJson, renderPolicyTable } from "../policy-table.js";

const FLEET = `version: 1
projects:
  web:
    agents:
      coder: { adapter: claude, depends_on: [db] }
      db: { command: [node, db.mjs], on_clean_exit: restart }
      git: { kind: call, command: [node, git.mjs], timeout: 30s }
`;
const BROKEN = FLEET.replace("adapter: claude", "adaptor: claude")
	.replace("timeout: 30s", "timeout: 30")
	.replace("[db]", "[dbb]");

/** A real crash loop is halted at its 7th exit; another start would be a defect. */
const STARTS_MAX = 8;

export async function runDemo(options: { json?: boolean }, { output, env }: Cli): Promise<number> {
	const where = { env: {}, homeDir: "/", baseDir: "/" };
	const good = parseFleet(FLEET, "reeve.yaml", where);
	const broken = parseFleet(BROKEN, "reeve.yaml", where);
	const rows = await runCrashLoop();
	const killed = await killDaemon(env);
	const kept = Object.entries(killed.before).every(
		([id, pid]) => pid !== null && killed.after[id] === pid,
	);
	const problems = broken.ok ? [] : broken.problems;
	const asPromised = good.ok && problems.length > 0 && rows.at(-1)?.policy === "halted" && kept;
	const exitCode = asPromised ? CLI_EXIT.done : CLI_EXIT.failed;

	if (options.json) {
		const exits = policyJson(rows);
		output.json({ valid: good.ok, problems, exits, killed, as_promised: asPromised });
		return exitCode;
	}
	const heading = (text: string) => output.result(output.colors.bold(text));
	heading("1. A fleet file defines the agents");
	output.result(indent(FLEET.trimEnd()));
	heading("\n2. All errors in it are reported at once, each with its line");
	for (const problem of problems) output.result(indent(renderProblem(problem)));
	heading("\n3. A program that keeps crashing is restarted, delayed, and finally halted");
	output.result("   (real processes; the delays are shown but skipped)");
	for (const line of renderPolicyTable(rows, output)) output.result(line);
	output.result(
		`   halted after ${rows.length} exits: it stays down until the operator resumes it`,
	);
	heading("\n4. Agents survive a daemon that is killed with SIGKILL");
	output.result(
		`   daemon ${killed.daemons[0]} was killed, daemon ${killed.daemons[1]} adopted the agents:`,
	);
	for (const [id, pid] of Object.entries(killed.before)) {
		output.result(`   ${id} had pid ${pid}, and has pid ${killed.after[id]}`);
	}
	if (!asPromised) output.result("\nthis is not the expected result: please report it");
	output.note('next: `reeve init`, `reeve validate`, `reeve explain --simulate "1@31s x20"`');
	return exitCode;
}

/** Runs the crashing program as often as the policy allows, and collects the decisions after each exit. */
async function runCrashLoop(): Promise<RehearsalRow[]> {
	const rows: RehearsalRow[] = [];
	let state = NEW_AGENT;
	let startedAtMs = 0;
	while (state.policy !== "halted" && rows.length < STARTS_MAX) {
		const report = await runCrasher();
		const decision = decideAfterExit(state, report, {
			settings: DEFAULT_CRASH_POLICY,
			onCleanExit: "prompt",
			random: Math.random(),
		});
		const { action, reason, kind, class: exitClass } = decision;
		const atMs = startedAtMs + report.uptimeMs;
		state = decision.state;
		rows.push({
			atMs,
			step: { type: "exit", report },
			kind,
			class: exitClass,
			policy: state.policy,
			action,
			reason,
		});
		startedAtMs = atMs + ("afterMs" in action ? action.afterMs : 0);
	}
	return rows;
}

async function runCrasher(): Promise<ExitReport> {
	const startedAtMs = performance.now();
	const child = spawn(process.execPath, ["-e", "process.exit(3)"], { stdio: "ignore" });
	const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
	return exitReport({ code, signal, uptimeMs: Math.round(performance.now() - startedAtMs) });
}

function indent(text: string): string {
	return text.replace(/^(?=.)/gm, "   ");
}

/** Uses the backend that needs no installation. */
const DAEMON_FLEET = `version: 1
defaults: { backend: pty, drain: { timeout: 2s } }
projects:
  demo:
    agents:
      bot: { command: [sleep, "600"] }
      server: { command: [sleep, "600"], terminal: false }
`;

interface KilledDaemon {
	/** The pids of the agents under the first and the next daemon. */
	readonly before: Readonly<Record<string, number | null>>;
	readonly after: Readonly<Record<string, number | null>>;
	readonly daemons: readonly [first: number, next: number];
}

const STARTER_MS_MAX = 10_000;

/** Starts a daemon and agents, kills the daemon, starts another, and stops everything. */
async function killDaemon(env: NodeJS.ProcessEnv): Promise<KilledDaemon> {
	const folder = await mkdtemp(join(tmpdir(), "reeve-demo-"));
	const home = resolveHome({ REEVE_HOME: join(folder, "home") });
	const client = createClient({ socketPath: home.socket });
	const pids = async () => {
		const { agents } = await client.call("GET /api/v1/agents");
		return Object.fromEntries(agents.map(({ id, pid }) => [id, pid]));
	};
	try {
		const parsed = parseFleet(DAEMON_FLEET, "reeve.yaml", {
			env: {},
			homeDir: folder,
			baseDir: folder,
		});
		if (!parsed.ok) throw new Error("the demo's own fleet file is invalid");
		await ensureDaemon({ home, env });
		await client.call("POST /api/v1/fleet/up", {
			body: { fleet: fleetToJson(parsed.fleet), scope: "*" },
		});
		const before = await pids();
		const first = await client.call("GET /api/v1/daemon");
		process.kill(first.pid, "SIGKILL");
		await waitForEnd(client, first);
		await ensureDaemon({ home, env });
		const after = await pids();
		const next = await client.call("GET /api/v1/daemon");
		await client.call("POST /api/v1/daemon/stop", { body: { all: true } });
		await waitForEnd(client, next);
		await waitForStarter(home.runtime);
		return { before, after, daemons: [first.pid, next.pid] };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

/** A starter without runs and clients exits when its daemon has stopped, and removes its socket. */
async function waitForStarter(folder: string): Promise<void> {
	const untilMs = performance.now() + STARTER_MS_MAX;
	while (performance.now() < untilMs) {
		const files = await readdir(folder, { recursive: true }).catch(() => []);
		if (!files.some((file) => file.endsWith("starter.sock"))) return;
		await sleep(50);
	}
}
