/**
 * The environment of a chaos run: a home on its own small disk, ledgers on another, a fleet of agents that write
 * them, and the clients of the daemon.
 */

import {
	cpSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Client, createClient } from "../../src/client/client.js";
import { createFleetHome, type FleetHome } from "../faults/fleet-home.js";
import { fill, mountDisk } from "../store/support.js";
import { freePort } from "../support/free-port.js";
import { type Ran, runReeve } from "../support/reeve.js";

/** The built one: the agent is a program of its own. */
const { fakeAgentCommand } = (await import(
	new URL("../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../src/testing/index.js");

const DISK_KIB = 65_536;
const HANGS_AFTER_MS = 90_000;

export interface ChaosWorld {
	readonly fleet: FleetHome;
	/** REEVE_HOME. */
	readonly home: string;
	readonly client: Client;
	readonly url: string;
	/** The secret value that `env` and `env_file` have now. */
	canary(): string;
	/** Every value it ever had. */
	readonly canaries: ReadonlySet<string>;
	/** Writes the fleet file; with `changed`, some agents differ from before. */
	writeFleet(changed: boolean): void;
	/** A CLI process that is killed when it takes longer than a person would wait, or earlier. */
	cli(args: readonly string[], killAfterMs?: number): Promise<Ran>;
	fillDisk(): void;
	freeDisk(): void;
	/** Copies the home and the ledgers to a directory that outlives the namespace. */
	keep(): string;
}

export const SESSIONS = [
	"pty1",
	"pty2",
	"tmux1",
	"tmux2",
	"pipe1",
	"tree1",
	"tree2",
	"wrap1",
	"wrap2",
] as const;
/** Only one client switches this one on and off. */
export const SWITCHED = "flip";
export const TALKERS = ["talk1", "talk2"] as const;
export const CALLABLE = ["call", "once", "pool", "breaks"] as const;

/** More than hours of chaos write; the default of 50,000 is reached within half an hour. */
const EVENTS_KEPT = 10_000_000;

export async function createChaosWorld(seed: number): Promise<ChaosWorld> {
	const disk = mountDisk(DISK_KIB);
	if (typeof disk === "string") throw new Error(disk);
	const folder = mkdtempSync(join(tmpdir(), `reeve-chaos-${seed}-`));
	const home = join(disk.folder, "home");
	for (const name of ["tmp", "locks", "ledgers"]) mkdirSync(join(folder, name));
	// The judge counts the events of every run and task, from the first to the last: none may be removed by age or
	// number.
	mkdirSync(home, { mode: 0o700 });
	writeFileSync(join(home, "daemon.json"), JSON.stringify({ history: { events: EVENTS_KEPT } }));
	const more = {
		...{ REEVE_HOME: home, TMPDIR: join(folder, "tmp") },
		// Warnings contain their origin.
		NODE_OPTIONS: "--trace-warnings",
	};
	const fleet = createFleetHome(more, folder);
	const port = await freePort();
	const ballast = join(disk.folder, "ballast");
	const canaries = new Set<string>();
	let generation = 0;

	const writeFleet = (changed: boolean) => {
		if (changed) generation += 1;
		const canary = canaryOf(seed, generation);
		canaries.add(canary);
		// Written atomically, so readers see one version or the other.
		writeFileSync(join(folder, ".env.new"), `CHAOS_CANARY=${canary}\n`);
		renameSync(join(folder, ".env.new"), join(folder, ".env"));
		fleet.writeFleet(agentsOf(folder, generation, canary), "reeve.yaml.new");
		renameSync(join(folder, "reeve.yaml.new"), join(folder, "reeve.yaml"));
	};
	return {
		...{ fleet, home, canaries, writeFleet },
		client: createClient({ socketPath: join(home, "reeve.sock") }),
		url: `http://127.0.0.1:${port}`,
		canary: () => canaryOf(seed, generation),
		cli: (args, killAfterMs = HANGS_AFTER_MS) =>
			runReeve(args, { cwd: folder, env: fleet.env, killAfterMs }),
		fillDisk: () => fill(ballast),
		// Emptied, not removed: a name needs no space.
		freeDisk: () => writeFileSync(ballast, ""),
		keep() {
			const kept = join(folder, "kept-home");
			// Sockets cannot be copied.
			const isFile = (from: string) =>
				lstatSync(from, { throwIfNoEntry: false })?.isSocket() === false;
			cpSync(home, kept, { recursive: true, filter: isFile });
			return folder;
		},
	};
}

const canaryOf = (seed: number, generation: number) => `canary-${seed}-${generation}-kjh3g4f5`;

const PROGRAM = resolve("test/fixtures/chaos/keeps-a-ledger.pl");

function agentsOf(folder: string, generation: number, canary: string): string {
	const ledger = (name: string, ...more: string[]) =>
		JSON.stringify(["perl", PROGRAM, folder, name, ...more]);
	const wrapped = (name: string) =>
		JSON.stringify(["sh", "-c", 'perl "$0" "$1" "$2"; exit $?', PROGRAM, folder, name]);
	const lasting =
		"on_clean_exit: restart, drain: { timeout: 3s }, crash_policy: { transient_delay: 100ms, flapping_delay: 300ms, halt_threshold: 1000, budget: { exits: 1000, within: 1h } }";
	const env = "env_file: .env";
	const changing = `env: { CHAOS_CANARY: ${canary} }`;
	const talks = (name: string) =>
		JSON.stringify(
			fakeAgentCommand({
				ledger: join(folder, "ledgers", `${name}.jsonl`),
				turns: [{ takes: "50ms", reply: "done" }],
			}),
		);
	const task = JSON.stringify([
		resolve("test/fixtures/call-agents/notes-in-ledger.pl"),
		join(folder, "ledgers", "tasks"),
	]);
	const calls = `command: ${task}, timeout: 10s, concurrency: 4, retry: { initial_backoff: 50ms, max_backoff: 200ms }, circuit_breaker: { failure_threshold: 1000 }`;
	const pool =
		"crash_policy: { transient_delay: 50ms, flapping_delay: 100ms, halt_threshold: 1000, budget: { exits: 1000, within: 1h } }";
	return [
		`pty1: { command: ${ledger("pty1")}, backend: pty, ${env}, ${lasting} }`,
		`pty2: { command: ${ledger("pty2")}, backend: pty, depends_on: [pty1], ${changing}, ${lasting} }`,
		`tmux1: { command: ${ledger("tmux1")}, backend: tmux, ${env}, ${lasting} }`,
		`tmux2: { command: ${ledger("tmux2")}, backend: tmux, ${changing}, ${lasting} }`,
		`pipe1: { command: ${ledger("pipe1")}, terminal: false, ${env}, ${lasting} }`,
		`tree1: { command: ${ledger("tree1", "tree")}, backend: pty, ${lasting} }`,
		`tree2: { command: ${ledger("tree2", "tree")}, backend: tmux, ${lasting} }`,
		`wrap1: { command: ${wrapped("wrap1")}, backend: pty, ${lasting} }`,
		`wrap2: { command: ${wrapped("wrap2")}, backend: tmux, ${lasting} }`,
		`flip: { command: ${ledger("flip")}, backend: ${generation % 2 === 0 ? "pty" : "tmux"}, ${lasting} }`,
		`talk1: { adapter: claude, command: ${talks("talk1")}, backend: pty, ${env}, ${lasting} }`,
		`talk2: { adapter: claude, command: ${talks("talk2")}, backend: tmux, ${lasting} }`,
		`call: { kind: call, ${env}, ${calls} }`,
		`once: { kind: call, idempotent: false, ${calls} }`,
		`breaks: { kind: call, ${calls.replace("1000", "2, cooldown: 1s")} }`,
		`pool: { kind: worker, workers: { min: 1, max: 2 }, ${pool}, ${calls} }`,
		...(generation % 3 === 1 ? [`extra: { command: ${ledger("extra")}, ${lasting} }`] : []),
	].join("\n");
}

/** One line that an agent wrote about itself. */
export interface LedgerLine {
	readonly atMs: number;
	readonly word: "start" | "exit" | "DUPLICATE";
	readonly name: string;
	readonly pid: number;
	readonly runId: string;
	readonly canary: string;
	readonly text: string;
}

export function readLedger({ fleet }: ChaosWorld): readonly LedgerLine[] {
	return fleet.ledger().flatMap((text) => {
		const [atMs, word, name = "", pid, runId = "", canary = ""] = text.split(" ");
		if (word !== "start" && word !== "exit" && word !== "DUPLICATE") return [];
		return { atMs: Number(atMs), word, name, pid: Number(pid), runId, canary, text };
	});
}

/** Prompts that a session agent received, oldest first. */
export function readPrompts({ fleet }: ChaosWorld, name: string): readonly string[] {
	return linesOf(join(fleet.folder, "ledgers", `${name}.jsonl`)).flatMap((line) => {
		const reported = JSON.parse(line) as { hook_event_name: string; prompt?: string };
		return reported.hook_event_name === "UserPromptSubmit" ? [reported.prompt ?? ""] : [];
	});
}

/** Attempts that reached a call or worker agent: `task.attempt`. */
export function readAttempts({ fleet }: ChaosWorld): readonly string[] {
	return linesOf(join(fleet.folder, "ledgers", "tasks")).flatMap((line) => {
		const [word, request = ""] = line.split(" ");
		return word === "begin" ? [request] : [];
	});
}

function linesOf(path: string): readonly string[] {
	try {
		return readFileSync(path, "utf8").split("\n").filter(Boolean);
	} catch {
		return [];
	}
}
