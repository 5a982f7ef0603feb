/**
 * A whole fleet with every kind of agent under every kind of fault, from a seed. `npm run chaos` starts it inside its
 * own namespaces, where it may kill any process. It fails with a list of all broken promises.
 */

import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { isEnded } from "../../src/core/task.js";
import { createRandom } from "../../src/testing/random.js";
import { Book } from "./book.js";
import { CLI_ACTIONS, followEvents, HTTP_ACTIONS, runClient, SWITCH_ACTIONS } from "./clients.js";
import { keepDaemon, runFaults } from "./faults.js";
import { judge, judgeCrashes, judgeLeftovers, readStored } from "./judge.js";
import { readProcesses, signal } from "./processes.js";
import { type ChaosWorld, createChaosWorld } from "./world.js";

const SECONDS = Number(process.env["REEVE_CHAOS_SECONDS"] ?? 30);
const SEED = Number(process.env["REEVE_CHAOS_SEED"] ?? 1);
/** The fleet is brought to rest and checked this often, and at the end. */
const STORM_MS = 45_000;
const REST_WITHIN_MS = 120_000;
const HTTP_CLIENTS = 3;

test(`a fleet under faults for ${SECONDS} s, seed ${SEED}`, async () => {
	if (process.pid > 200) throw new Error("only inside namespaces of its own: `npm run chaos`");
	const before = new Set(readProcesses().map(({ pid }) => pid));
	const world = await createChaosWorld(SEED);
	const timeline = join(world.fleet.folder, "timeline");
	const book = new Book((line) => appendFileSync(timeline, line));
	console.log(`chaos: seed ${SEED}, ${SECONDS} s, in ${world.fleet.folder}`);
	// The clients run in this process.
	process.on("warning", ({ stack = "" }) => {
		book.violated("no warning is printed: the client", stack.split("\n"));
	});
	world.writeFleet(true);
	await world.fleet.must("daemon", "start", "--listen", world.url.slice("http://".length));
	await world.fleet.must("up");

	const endMs = performance.now() + SECONDS * 1000;
	for (let round = 1; performance.now() < endMs; round++) {
		await storm(world, book, round, Math.min(STORM_MS, endMs - performance.now()));
		await comeToRest(world, book);
		await judge(world, book).catch((error: Error) => {
			book.violated("a fleet at rest can be judged", [String(error.stack)]);
		});
		console.log(
			`chaos: round ${round} at ${(book.elapsedMs() / 1000).toFixed(0)} s: ${book.violations.length} violations`,
		);
	}
	// Agents that were not stopped are not left over.
	if (await stopAll(world, book)) {
		// The starter exits some time after its last run.
		for (let looks = 0; looks < 90 && readProcesses().some(isHolder); looks++) await sleep(1_000);
		await judgeLeftovers(world, book, before);
	}

	console.log(`\nchaos: seed ${SEED}, what was done:\n${book.table()}\n`);
	for (const { atMs, rule, lines } of book.violations) {
		console.log(`VIOLATION (seed ${SEED}, ${(atMs / 1000).toFixed(1)} s): ${rule}`);
		for (const line of lines) console.log(`    ${line}`);
	}
	if (book.violations.length > 0) console.log(`chaos: kept in ${world.keep()}`);
	expect(book.violations.map(({ rule }) => rule)).toEqual([]);
});

const isHolder = ({ kind }: { readonly kind: string }) => kind === "starter";

const STOP_TRIES_MAX = 3;

/**
 * Stops the fleet and its daemon. A request that a busy host did not answer in time is repeated, as its error advises;
 * any other failure is one of the command. False if it failed.
 */
async function stopAll(world: ChaosWorld, book: Book): Promise<boolean> {
	for (let tries = 1; ; tries++) {
		const startedMs = performance.now();
		const { code, stdout, stderr } = await world.cli(["daemon", "stop", "--all"]);
		const printed = `${stdout}${stderr}`.trim().split("\n");
		const tookMs = Math.round(performance.now() - startedMs);
		book.note(`daemon stop --all: exit ${code} after ${tookMs} ms: ${printed.join(" | ")}`);
		if (code === 0) return true;
		const isLate = stderr.includes("does not respond");
		if (isLate && tries < STOP_TRIES_MAX) continue;
		book.violated("`reeve daemon stop --all` works without faults", [
			`exit ${code} after ${tookMs} ms`,
			...printed,
			...(await describeNow(world)),
		]);
		return false;
	}
}

/** Clients and faults together, for a while; resolves when all of them have ended. */
async function storm(world: ChaosWorld, book: Book, round: number, ms: number): Promise<void> {
	const stop = new AbortController();
	let streams = 0;
	const context = (name: string) => ({
		...{ world, book, name: `${name}${round}` },
		random: createRandom(SEED * 1_000_003 + round * 1_009 + ++streams),
	});
	const clients = [
		...Array.from({ length: HTTP_CLIENTS }, (_, n) =>
			runClient(context(`http${n}-`), HTTP_ACTIONS, 150, stop.signal),
		),
		...["cli-a-", "cli-b-"].map((name) => runClient(context(name), CLI_ACTIONS, 300, stop.signal)),
		runClient(context("switch-"), SWITCH_ACTIONS, 500, stop.signal),
		followEvents(context("events-"), stop.signal),
	];
	const faults = [
		runFaults(context("faults-"), 900, stop.signal),
		runFaults(context("more-faults-"), 2_000, stop.signal),
		keepDaemon(context("keeper-"), stop.signal),
	];
	await sleep(ms);
	stop.abort();
	await Promise.all(faults);
	heal(world);
	await world.cli(["daemon", "start"]);
	await Promise.all(clients);
}

function heal(world: ChaosWorld): void {
	for (const { pid, kind } of readProcesses()) if (kind !== "other") signal(pid, "SIGCONT");
	world.freeDisk();
}

/** Waits until everything has settled; the checks find the rest. */
async function comeToRest(world: ChaosWorld, book: Book): Promise<void> {
	heal(world);
	await sleep(1_000);
	// A last reload and up, without any fault, must work.
	for (const args of [["daemon", "start"], ["reload"], ["up"]]) {
		const { code, stdout, stderr } = await world.cli(args);
		if (code === 0) continue;
		book.violated(`\`reeve ${args.join(" ")}\` works without faults`, [
			...`${stdout}${stderr}`.trim().split("\n"),
			...(await describeNow(world)),
		]);
	}
	const untilMs = performance.now() + REST_WITHIN_MS;
	let waitsFor = "";
	while (performance.now() < untilMs) {
		waitsFor = await whatIsUnderWay(world).catch((error: Error) => `an answer: ${error.message}`);
		if (waitsFor === "") break;
		await sleep(500);
	}
	if (waitsFor !== "") book.violated("a fleet without faults comes to rest", [waitsFor]);
	judgeCrashes(world, book);
	// Recent commits may not have reached the processes yet.
	await sleep(1_500);
}

/** The end of the daemon's log and the running agents, for analysing a violation. */
async function describeNow({ home }: ChaosWorld): Promise<readonly string[]> {
	const log = await readFile(join(home, "daemon.log"), "utf8").catch(() => "");
	return [
		...log.trim().split("\n").slice(-8),
		...readProcesses().map(
			({ pid, ppid, kind, command }) => `${pid} (of ${ppid}) ${kind} ${command}`,
		),
	];
}

async function whatIsUnderWay(world: ChaosWorld): Promise<string> {
	const { agents } = await world.client.call("GET /api/v1/agents");
	const late = agents.filter(
		({ kind, desired, process: state }) =>
			kind === "session" && desired === "up" && state !== "running",
	);
	if (late.length > 0) return `agents: ${late.map(({ id, reason }) => `${id} (${reason})`)}`;
	const stored = await readStored(world);
	const open = stored.tasks.filter(({ status }) => !isEnded(status));
	if (open.length > 0) return `tasks: ${open.map(({ taskId, status }) => `${taskId} ${status}`)}`;
	const waiting = stored.messages.filter(({ phase }) => phase !== "dead");
	if (waiting.length > 0) return `${waiting.length} messages: ${JSON.stringify(waiting[0])}`;
	return "";
}
