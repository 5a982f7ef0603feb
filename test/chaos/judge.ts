/**
 * Checks a fleet at rest by its agents' ledgers, by /proc and by the database, read from outside. The daemon's own
 * reports are only compared with these.
 */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ReeveEvent } from "../../src/core/events.js";
import type { Message } from "../../src/core/inbox.js";
import { isEnded } from "../../src/core/task.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { StoredAgent, StoredExit, StoredRun } from "../../src/ports/store.js";
import type { StoredTask } from "../../src/ports/task-store.js";
import { loadDriver } from "../../src/store/sqlite/driver.js";
import { decodeEvent, decodeRecord } from "../../src/store/sqlite/records.js";
import type { Book } from "./book.js";
import { isLetIn } from "./clients.js";
import { openFiles, readProcesses } from "./processes.js";
import { type ChaosWorld, readAttempts, readLedger, readPrompts, TALKERS } from "./world.js";

export interface Stored {
	readonly agents: readonly StoredAgent[];
	readonly runs: readonly StoredRun[];
	readonly exits: readonly StoredExit[];
	readonly events: readonly ReeveEvent[];
	readonly tasks: readonly StoredTask[];
	readonly attempts: readonly { readonly taskId: string; readonly n: number }[];
	readonly plans: readonly { readonly planId: string; readonly status: string }[];
	readonly messages: readonly Message[];
}

export async function readStored({ home }: ChaosWorld): Promise<Stored> {
	const database = (await loadDriver()).open(join(home, "reeve.db"), { readOnly: true });
	try {
		const all = <T>(table: string) =>
			database
				.prepare(`SELECT record FROM ${table}`)
				.all()
				.map(decodeRecord<T>);
		return {
			...{ agents: all("agents"), runs: all("runs"), exits: all("exits"), tasks: all("tasks") },
			...{ attempts: all("attempts"), plans: all("plans") },
			events: database.prepare("SELECT * FROM events ORDER BY seq").all().map(decodeEvent),
			messages: all("messages"),
		};
	} finally {
		database.close();
	}
}

interface Case {
	readonly world: ChaosWorld;
	readonly book: Book;
	readonly stored: Stored;
}

/** Everything that must hold of a fleet at rest. */
export async function judge(world: ChaosWorld, book: Book): Promise<void> {
	const stored = await readStored(world);
	const agents = (await world.client.call("GET /api/v1/agents")).agents;
	const about = { world, book, stored };
	judgeRuns(about);
	judgeProcesses(about, agents);
	judgeEnvironment(about);
	judgeEvents(about);
	judgeTasks(about);
	judgePlans(about);
	judgeMessages(about);
	judgeCrashes(world, book);
	judgeSecrets(about);
	judgeLogs(about);
	await judgeTokens(world, book);
	judgeFiles(about);
}

const byKey = <T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> => {
	const groups = new Map<string, T[]>();
	for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
	return groups;
};

/** History keeps more runs of an agent than this. */
const KEPT_RUNS_MIN = 100;

/** S1, S8: one process at a time, each run started once, each exit recorded once. */
function judgeRuns({ world, book, stored }: Case): void {
	const ledger = readLedger(world);
	const lines = (name: string) =>
		ledger
			.filter((each) => each.name === name)
			.slice(-8)
			.map(({ text }) => text);
	const doubled = ledger.filter(({ word }) => word === "DUPLICATE");
	for (const [name, same] of byKey(doubled, (each) => each.name)) {
		const times = same.map(({ text }) => text);
		book.violated(`an agent has one process at a time (S1): ${name}`, [...times, ...lines(name)]);
	}
	const living = new Set(
		readProcesses().flatMap(({ pid, runId, isZombie }) => (isZombie ? [] : [`${pid} ${runId}`])),
	);
	const runs = new Map(stored.runs.map((run) => [run.runId, run]));
	const exits = byKey(stored.exits, ({ runId }) => runId);
	const reported = byKey(
		stored.events.filter(({ type }) => type === "agent.exited"),
		({ run_id }) => run_id ?? "",
	);
	const starts = ledger.filter(({ word }) => word === "start");
	const kept = byKey(stored.runs, ({ agentId }) => agentId);
	/** Ids of runs grow with time, and the oldest of many are no longer kept. */
	const isPruned = (name: string, runId: string) => {
		const ids = (kept.get(`p:${name.replace(/\.child$/, "")}`) ?? []).map((run) => run.runId);
		return ids.length >= KEPT_RUNS_MIN && ids.every((id) => id > runId);
	};
	for (const [key, same] of byKey(starts, ({ name, runId }) => `${name} ${runId}`)) {
		if (same.length > 1) {
			book.violated(
				`a run starts its program once (S8): ${key}`,
				same.map(({ text }) => text),
			);
		}
	}
	for (const { runId, pid, name, text } of starts) {
		const isAlive = living.has(`${pid} ${runId}`);
		const run = runs.get(runId);
		if (run === undefined) {
			if (!isPruned(name, runId)) book.violated(`a run that started is recorded: ${name}`, [text]);
		} else if (!isAlive && !name.endsWith(".child") && run.state !== "ended") {
			book.violated(`a run whose process is gone has ended: ${name} is ${run.state}`, [
				...lines(name),
				JSON.stringify(run),
			]);
		} else if (isAlive && run.state === "ended") {
			book.violated(`a run that has ended has no process (S18): ${name}`, [text]);
		}
	}
	for (const run of stored.runs.filter(({ state }) => state === "ended")) {
		const found = exits.get(run.runId)?.length ?? 0;
		const events = reported.get(run.runId)?.length ?? 0;
		if (found === 1 && events === 1) continue;
		// A start that failed has no process and no exit.
		const isStarted = starts.some(({ runId }) => runId === run.runId);
		if (found === 0 && events === 0 && run.handle === null && !isStarted) continue;
		book.violated(`a run has one exit (S8): ${found} recorded, ${events} events`, [
			JSON.stringify(run),
			...ledger.filter(({ runId }) => runId === run.runId).map(({ text }) => text),
			...stored.events
				.filter((each) => each.run_id === run.runId)
				.map((each) => JSON.stringify(each)),
		]);
	}
}

/** S2, S19: exactly the wanted agents run, and `ps` names the right processes. */
function judgeProcesses({ book, stored }: Case, agents: readonly AgentJson[]): void {
	const sessions = readProcesses().filter(({ kind, isZombie }) => kind === "session" && !isZombie);
	const open = stored.runs.filter(({ state }) => state !== "ended");
	for (const each of sessions) {
		if (open.some(({ runId }) => runId === each.runId)) continue;
		book.violated("every process of an agent belongs to an open run", [
			`${each.pid} ${each.command} ${each.runId}`,
		]);
	}
	for (const agent of agents.filter(({ kind }) => kind === "session")) {
		const line = JSON.stringify({ ...agent, reason: agent.reason });
		if (agent.desired === "down") {
			if (agent.pid !== null) book.violated(`ps: ${agent.id} is down and has a process`, [line]);
			continue;
		}
		if (agent.process !== "running" || agent.pid === null) {
			book.violated(`${agent.id} is to run and does not`, [line]);
		} else if (!sessions.some(({ pid, runId }) => pid === agent.pid && runId === agent.run_id)) {
			book.violated(`ps: the process of ${agent.id} is not there`, [line]);
		}
	}
}

/** By `env_file`, which is read at every start, and by `env`, which is pinned by `up` and `reload`. */
const GIVEN_CANARY = ["pty1", "tmux1", "pipe1", "pty2", "tmux2"];
const PINNED_CANARY = ["pty2", "tmux2"];

/** Agents have their environment after every start, and a changed one after a reload. */
function judgeEnvironment({ world, book }: Case): void {
	const living = new Set(readProcesses().map(({ runId }) => runId));
	for (const { word, name, canary, runId, text } of readLedger(world)) {
		if (word !== "start" || !GIVEN_CANARY.includes(name)) continue;
		if (!world.canaries.has(canary)) {
			book.violated(`an agent has its environment at every start: ${name}`, [text]);
		} else if (PINNED_CANARY.includes(name) && living.has(runId) && canary !== world.canary()) {
			const now = `the fleet file has ${world.canary()}`;
			book.violated(`a reload brings a changed environment to ${name}`, [text, now]);
		}
	}
}

/** A3: no gap and no repeat. */
function judgeEvents({ book, stored: { events } }: Case): void {
	const first = events[0]?.seq ?? 1;
	for (const [n, { seq }] of events.entries()) {
		if (seq === first + n) continue;
		book.violated("the events in the database have no gap (A3)", [`${seq} at place ${n}`]);
		return;
	}
}

/** T1, T2, T3, T5: every task that was acknowledged has one end, and no attempt too many. */
function judgeTasks({ world, book, stored }: Case): void {
	const tasks = new Map(stored.tasks.map((task) => [task.taskId, task]));
	for (const [key, ids] of book.tasks) {
		if (ids.size > 1) book.violated(`a key makes one task (T5): ${key}`, [...ids]);
		for (const id of ids) if (!tasks.has(id)) book.violated(`an acknowledged task is kept: ${id}`);
	}
	const begun = byKey(
		readAttempts(world).map((request) => request.split(".")),
		([task = ""]) => task,
	);
	const ends = byKey(
		stored.events.filter((each) => each.type === "task.changed" && isEnded(each.data.to)),
		({ task }) => task ?? "",
	);
	const attempts = byKey(stored.attempts, ({ taskId }) => taskId);
	for (const task of stored.tasks) {
		const { taskId, status, retry } = task;
		const tries = (begun.get(taskId) ?? []).map(([, n]) => Number(n));
		const facts = [JSON.stringify(task), `attempts in the ledger: ${tries}`];
		if (!isEnded(status)) book.violated(`every task ends (T1): ${taskId} is ${status}`, facts);
		const reported = ends.get(taskId)?.length ?? 0;
		if (isEnded(status) && reported !== 1)
			book.violated(`a task ends once (T2): ${reported} times`, facts);
		if (new Set(tries).size !== tries.length) {
			book.violated(`an attempt reaches an agent once: ${taskId}`, facts);
		}
		if (Math.max(0, ...tries) > retry.maxAttempts) {
			book.violated(`no attempt too many (T3): ${taskId}`, facts);
		}
		const recorded = (attempts.get(taskId) ?? []).map(({ n }) => n);
		for (const n of tries.filter((each) => !recorded.includes(each))) {
			if (isEnded(status)) book.violated(`an attempt is recorded: ${taskId}.${n}`, facts);
		}
		if (status === "succeeded" && !tries.includes(Math.max(0, ...recorded))) {
			book.violated(`a task that succeeded was answered: ${taskId}`, facts);
		}
	}
}

/** T11: no plan is lost, and each ends as its tasks do. */
function judgePlans({ book, stored }: Case): void {
	const plans = new Map(stored.plans.map((plan) => [plan.planId, plan]));
	for (const [key, ids] of book.plans) {
		if (ids.size > 1) book.violated(`a key makes one plan (T5): ${key}`, [...ids]);
		for (const id of ids) if (!plans.has(id)) book.violated(`an acknowledged plan is kept: ${id}`);
	}
	const tasks = byKey(stored.tasks, ({ planId }) => planId);
	for (const { planId, status } of plans.values()) {
		const ends = (tasks.get(planId) ?? []).map((task) => task.status);
		const facts = [`${planId} is ${status}`, `its tasks: ${ends}`];
		if (status !== "succeeded" && status !== "failed" && status !== "cancelled") {
			book.violated("every plan ends", facts);
		} else if (status === "succeeded" && ends.some((end) => end !== "succeeded")) {
			book.violated("a plan succeeds with all its tasks", facts);
		} else if (status !== "failed" && ends.includes("dead_lettered") && status !== "cancelled") {
			book.violated("a plan with a dead letter fails (T11)", facts);
		}
	}
}

/** Every message that was acknowledged reached its agent once, or is reported as dead. */
function judgeMessages({ world, book, stored }: Case): void {
	const kept = new Map(stored.messages.map((message) => [message.id, message]));
	const reported = byKey(
		stored.events.filter(({ type }) => type.startsWith("inbox.")),
		(event) => (event.data as { message?: string }).message ?? "",
	);
	for (const name of TALKERS) {
		const prompts = readPrompts(world, name);
		for (const { text, id } of book.messages.filter(({ agent }) => agent === `p:${name}`)) {
			const received = prompts.filter((prompt) => prompt.includes(text));
			const facts = [
				`${text} to ${name}: ${JSON.stringify(received)}`,
				JSON.stringify(kept.get(id ?? "") ?? null),
				...(reported.get(id ?? "") ?? []).map((each) => JSON.stringify(each)),
			];
			if (received.length > 1) book.violated(`a message arrives once: ${text}`, facts);
			if (id === null || received.length > 0) {
				if (kept.get(id ?? "")?.phase === "dead" && received.length > 0) {
					book.violated(`a message that arrived is not reported as dead: ${text}`, facts);
				}
				continue;
			}
			const { phase } = kept.get(id) ?? {};
			if (phase === undefined) book.violated(`an accepted message is not lost: ${text}`, facts);
			else if (phase !== "dead") {
				book.violated(`a message is delivered or reported as dead: ${text} is ${phase}`, facts);
			}
		}
	}
}

/** Daemons die only because they were killed. */
export function judgeCrashes({ home }: ChaosWorld, book: Book): void {
	const folder = join(home, "crashes");
	for (const name of namesIn(folder)) {
		try {
			const report = JSON.parse(readFileSync(join(folder, name), "utf8")) as {
				cause: string;
				message: string;
				stack: string | null;
			};
			if (report.cause === "killed") continue;
			book.violated(`a daemon dies only by being killed: ${report.cause}`, [
				name,
				report.message,
				...(report.stack ?? "").split("\n").slice(0, 8),
			]);
		} catch {
			// Half written by a daemon that was killed meanwhile, or on a full disk.
		}
	}
}

const LOGS = /(?:^daemon|holder)\.log(?:\.\d+)?$/;
/** Such as listeners that pile up, and what Node prints about its own experiments. */
const WARNING = /\(node:\d+\) (?!ExperimentalWarning)\w*Warning/;

/** Nothing that runs for long leaks what Node warns of. */
function judgeLogs({ world, book }: Case): void {
	for (const name of readdirSync(world.home, { recursive: true, encoding: "utf8" })) {
		if (!LOGS.test(name)) continue;
		const lines = readFileSync(join(world.home, name), "utf8").split("\n");
		const at = lines.findIndex((line) => WARNING.test(line));
		if (at >= 0) book.violated(`no warning is printed: ${name}`, lines.slice(at, at + 12));
	}
}

const SECRET_FILES = /^env\.json/;

/** A5: values of env_file are in one file of the home. */
function judgeSecrets({ world, book }: Case): void {
	const canaries = [...world.canaries];
	for (const name of readdirSync(world.home, { recursive: true, encoding: "utf8" })) {
		const path = join(world.home, name);
		try {
			if (SECRET_FILES.test(name) || !statSync(path).isFile()) continue;
			const text = readFileSync(path, "latin1");
			if (canaries.some((each) => text.includes(each))) {
				book.violated(`values of env_file are in env.json alone (A5): also in ${name}`);
			}
		} catch {}
	}
}

async function judgeTokens(world: ChaosWorld, book: Book): Promise<void> {
	for (const { id, secret, state } of book.tokens) {
		if (state === "unknown") continue;
		const isIn = await isLetIn(world, secret);
		if (isIn === null || isIn === (state === "valid")) continue;
		book.violated(state === "valid" ? "a token stays valid" : "a revoked token is refused", [id]);
	}
}

/** The daemon keeps no more files open than its agents and clients need. */
const OPEN_FILES_MAX = 120;

function judgeFiles({ world, book }: Case): void {
	for (const { pid, kind } of readProcesses()) {
		if (kind !== "daemon" && kind !== "starter" && kind !== "shim") continue;
		const files = openFiles(pid);
		if (files.length <= OPEN_FILES_MAX) continue;
		const kinds = byKey(files, (file) => file.replaceAll(/\d+/g, "N"));
		book.violated(`${kind} has ${files.length} files open`, [
			...[...kinds].map(([file, same]) => `${same.length} ${file}`),
		]);
	}
	const temporary = namesIn(join(world.fleet.folder, "tmp"));
	if (temporary.length > 0) book.violated("nothing is left in the temporary folder", temporary);
}

/** After the fleet was stopped with its daemon, no process and no file is left. */
export async function judgeLeftovers(
	world: ChaosWorld,
	book: Book,
	before: ReadonlySet<number>,
): Promise<void> {
	const { runs } = await readStored(world);
	const groups = runs
		.flatMap(({ handle }) => String(handle?.data["groups"] ?? "").split(":"))
		.filter((path) => path !== "" && existsSync(path));
	if (groups.length > 0) book.violated("no control group is left", groups);
	const left = readProcesses().filter(({ pid, isZombie }) => !before.has(pid) && !isZombie);
	if (left.length > 0) {
		book.violated("nothing runs after everything was stopped (S11)", [
			...left.map(({ pid, ppid, kind, command }) => `${pid} (of ${ppid}) ${kind} ${command}`),
		]);
	}
	const strange = readdirSync(world.home, { recursive: true, encoding: "utf8" }).filter((name) =>
		/\.sock$|\.tmp$|\.new$|^tmp\/.+\/.+\/./.test(name),
	);
	if (strange.length > 0) book.violated("no socket or temporary file is left", strange);
}

function namesIn(folder: string): string[] {
	try {
		return readdirSync(folder);
	} catch {
		return [];
	}
}
