/**
 * Requests that were in progress when the disk became full or the database locked. Each response is
 * compared with the state that a daemon finds after kill -9, and with the agents' own output.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import { connect, fill, mountDisk } from "../store/support.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const REQUESTS = 24;
const PAYLOAD = { text: "x".repeat(20_000) };

interface World {
	readonly client: Client;
	/** The actions that agents were asked for, as recorded by the agents. */
	readonly performed: () => readonly string[];
}

async function createWorld(folder?: string): Promise<World> {
	const outside = mkdtempSync(join(tmpdir(), "reeve-ledger-"));
	onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
	const ledger = join(outside, "ledger");
	home = createFleetHome({}, folder);
	const command = JSON.stringify([resolve("test/fixtures/call-agents/notes-action.sh"), ledger]);
	home.writeFleet(`tool: { kind: call, command: ${command}, concurrency: 2 }`);
	await home.must("up");
	return {
		client: createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") }),
		performed: () =>
			existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n").filter(Boolean) : [],
	};
}

/** Sends tasks and plans at once; returns which actions were acknowledged, and the refusals. */
async function sendMany({ client }: World, round: string) {
	const acknowledged: string[] = [];
	const refused: { readonly actions: readonly string[]; readonly error: unknown }[] = [];
	const one = (action: string) => ({ agent: "p:tool", action, payload: PAYLOAD });
	const sent = Array.from({ length: REQUESTS }, async (_, n) => {
		const action = `${round}-${n}`;
		const isPlan = n % 3 === 0;
		const actions = isPlan ? [`${action}-a`, `${action}-b`] : [action];
		const request = isPlan
			? client.call("POST /api/v1/plans", {
					body: {
						tasks: {
							a: one(`${action}-a`),
							b: { ...one(`${action}-b`), depends_on: ["a"] },
						},
					},
				})
			: client.call("POST /api/v1/tasks", { body: one(action), idempotencyKey: action });
		await request.then(
			() => acknowledged.push(...actions),
			(error: unknown) => refused.push({ actions, error }),
		);
	});
	await Promise.all(sent);
	return { acknowledged, refused };
}

async function storedActions({ client }: World): Promise<readonly string[]> {
	const { tasks } = await client.call("GET /api/v1/tasks", { query: { limit: 500 } });
	return tasks.map(({ action }) => action).sort();
}

interface Obstacle {
	readonly begin: () => void;
	readonly end: () => void;
}

/** A temporary failure, then one during which the daemon is killed. */
async function expectTrueAnswers(world: World, { begin, end }: Obstacle): Promise<void> {
	const isReady = async () =>
		JSON.parse((await home.reeve("daemon", "status", "--json")).stdout).ready === true;
	const settled = (actions: readonly string[]) => async () => {
		const done = new Set(world.performed());
		return actions.every((action) => done.has(action));
	};
	begin();
	const first = await sendMany(world, "passing");
	expect(first.refused.length).toBeGreaterThan(0);
	for (const { error } of first.refused) {
		expect(error).toMatchObject({
			code: "store_unavailable",
			message: expect.stringContaining("Nothing was done"),
		});
	}
	end();
	await eventually(isReady, "it can store again");
	const between = await sendMany(world, "between");
	expect(between.refused).toEqual([]);
	const kept = [...first.acknowledged, ...between.acknowledged];
	await eventually(settled(kept), "acknowledged tasks are performed");
	expect(await storedActions(world)).toEqual(kept.toSorted());

	begin();
	const second = await sendMany(world, "killed");
	expect(second.refused.length).toBeGreaterThan(0);
	await home.killDaemon();
	end();
	await home.must("daemon", "start");
	const all = [...kept, ...second.acknowledged];
	await eventually(settled(all), "acknowledged tasks survive the daemon");
	expect(await storedActions(world)).toEqual(all.toSorted());
	expect([...new Set(world.performed())].sort()).toEqual(all.toSorted());
}

test("a full disk: refused requests leave nothing, acknowledged ones survive kill -9 (T4, A1)", {
	timeout: 300_000,
}, async (context) => {
	const disk = mountDisk(16_384);
	if (typeof disk === "string") {
		home = createFleetHome();
		return context.skip(disk);
	}
	const folder = join(disk.folder, "fleet");
	mkdirSync(folder);
	const world = await createWorld(folder);
	const ballast = join(disk.folder, "ballast");
	await expectTrueAnswers(world, { begin: () => fill(ballast), end: () => rmSync(ballast) });
});

test("a locked database: refused requests leave nothing, acknowledged ones survive kill -9 (T4, A1)", {
	timeout: 300_000,
}, async () => {
	const world = await createWorld();
	const other = await connect(join(home.env["REEVE_HOME"] ?? "", "reeve.db"));
	await expectTrueAnswers(world, {
		begin: () => other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE"),
		end: () => other.exec("ROLLBACK"),
	});
});
