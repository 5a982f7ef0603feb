/** Obstacles to writing: the store waits, reports the reason, and loses nothing. */

import { closeSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ReeveEvent } from "../../src/core/events.js";
import type { Store, StoreTransaction } from "../../src/ports/store.js";
import { readPragma } from "../../src/store/sqlite/migrations.js";
import { agentNamed, effectFor, eventWith } from "../../src/testing/conformance/store-records.js";
import {
	connect,
	DRIVERS,
	fill,
	mountDisk,
	newPath,
	numbersIn,
	open,
	openWithConnection,
	range,
	until,
	wait,
} from "./support.js";

/** Commits events with these numbers, and records responses and notifications. */
function watch(store: Store) {
	const seen = {
		answered: [] as number[],
		received: [] as number[],
		refused: [] as unknown[],
		ran: 0,
	};
	store.onCommit((events: readonly ReeveEvent[]) => {
		for (const event of events) seen.received.push((event.data as { pid: number }).pid);
	});
	const commit = (number: number, also: (transaction: StoreTransaction) => void = () => {}) =>
		store
			.commit((transaction) => {
				seen.ran += 1;
				transaction.appendEvent(eventWith(number), number);
				also(transaction);
			})
			.then(
				() => {
					seen.answered.push(number);
				},
				(error: unknown) => {
					seen.refused.push(error);
				},
			);
	return { seen, commit };
}

const reasonOf = (store: Store) => {
	const health = store.health();
	return health.ok ? null : health.reason;
};

describe.each(DRIVERS)("obstacles in %s", { timeout: 20_000 }, (driver) => {
	test("locked by another program: waits, recovers, keeps the order, loses nothing", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const { seen, commit } = watch(store);
		await commit(0);
		const other = await connect(path, driver);
		other.exec("BEGIN IMMEDIATE");
		const answers = range(40).map((number) => commit(number + 1));
		await until(() => !store.health().ok);
		answers.push(...range(10).map((number) => commit(number + 41)));
		await wait(150);
		expect(reasonOf(store)).toContain("the database is locked by another program");
		expect(seen).toMatchObject({ answered: [0], received: [0], refused: [] });
		expect(numbersIn(store)).toEqual([0]);
		other.exec("ROLLBACK");
		await Promise.all(answers);
		expect(store.health()).toEqual({ ok: true });
		expect(seen).toMatchObject({ answered: range(51), received: range(51), ran: 51 });
		expect(numbersIn(store)).toEqual(range(51));
	});

	test("read-only: waits, and recovers", async () => {
		const { store, database } = await openWithConnection(newPath(), { driver });
		const { seen, commit } = watch(store);
		database.exec("PRAGMA query_only = ON");
		const answers = range(5).map((number) => commit(number));
		await until(() => !store.health().ok);
		expect(reasonOf(store)).toContain("the database is read-only");
		expect(seen.answered).toEqual([]);
		database.exec("PRAGMA query_only = OFF");
		await Promise.all(answers);
		expect(seen).toMatchObject({ answered: range(5), received: range(5), ran: 5 });
		expect(store.health()).toEqual({ ok: true });
	});

	test("full: each change runs once and is stored once, and none is lost when there is room", async () => {
		const { store, database } = await openWithConnection(newPath(), { driver });
		const { seen, commit } = watch(store);
		const pages = Number(readPragma(database, "page_count"));
		database.exec(`PRAGMA max_page_count = ${pages + 4}`);
		const large = (number: number) => (transaction: StoreTransaction) => {
			transaction.putAgent(agentNamed(`a${number}`, { reason: "x".repeat(3_000) }));
			// A full disk rolls back the transaction: later statements must not be written alone.
			transaction.putEffect(effectFor(`e${number}`));
		};
		const answers = range(30).map((number) => commit(number, large(number)));
		await until(() => !store.health().ok);
		await wait(100);
		expect(reasonOf(store)).toContain("the disk is full");
		expect(seen).toMatchObject({ answered: [], received: [] });
		expect(numbersIn(store)).toEqual([]);
		expect(store.readEffects("start")).toEqual([]);
		database.exec("PRAGMA max_page_count = 1000000");
		await Promise.all(answers);
		expect(seen).toMatchObject({ answered: range(30), received: range(30), refused: [], ran: 30 });
		expect(numbersIn(store)).toEqual(range(30));
		expect(store.readAgents()).toHaveLength(30);
		expect(store.readEffects("start")).toHaveLength(30);
		expect(store.health()).toEqual({ ok: true });
	});

	test("a real disk that is full: waits, and recovers when there is room", async (context) => {
		const disk = mountDisk(1_024);
		if (typeof disk === "string") return context.skip(disk);
		const store = await open(join(disk.folder, "reeve.db"), { driver });
		const { seen, commit } = watch(store);
		await commit(0);
		fill(join(disk.folder, "ballast"));
		const large = (transaction: StoreTransaction) =>
			transaction.putAgent(agentNamed("a", { reason: "x".repeat(20_000) }));
		const answers = range(20).map((number) => commit(number + 1, large));
		await until(() => !store.health().ok);
		await wait(100);
		expect(reasonOf(store)).toContain("the disk is full");
		expect(seen.answered).toEqual([0]);
		expect(numbersIn(store)).toEqual([0]);
		rmSync(join(disk.folder, "ballast"));
		await Promise.all(answers);
		expect(seen).toMatchObject({ answered: range(21), received: range(21), ran: 21 });
		expect(numbersIn(store)).toEqual(range(21));
		expect(store.health()).toEqual({ ok: true });
	});

	test("a failure at any statement of a batch leaves nothing behind, and the next attempt writes all of it", async () => {
		const path = newPath();
		for (let failsAt = 1; ; failsAt++) {
			const faults = { untilFailure: failsAt, happened: 0 };
			const { store } = await openWithConnection(path, { driver, faults });
			const { seen, commit } = watch(store);
			const before = store.lastSeq();
			const answers = range(3).map((number) =>
				commit(number, (transaction) => transaction.putAgent(agentNamed(`a${number}`))),
			);
			const thrown = store.commit((transaction) => {
				transaction.appendEvent(eventWith(9), 9);
				throw new Error("its own fault");
			});
			answers.push(commit(3));
			await expect(thrown).rejects.toThrow("its own fault");
			await Promise.all(answers);
			expect(seen).toMatchObject({ answered: range(4), received: range(4), refused: [], ran: 4 });
			expect(store.lastSeq()).toBe(before + 4);
			numbersIn(store);
			await store.close();
			if (faults.happened === 0) {
				// Begin, two for each of three changes, one for the last, commit.
				expect(failsAt).toBeGreaterThan(9);
				return;
			}
		}
	});

	test("a change that fails by itself is rejected while other changes wait", async () => {
		const { store, database } = await openWithConnection(newPath(), { driver });
		const { seen, commit } = watch(store);
		const thrown = store.commit(() => {
			// The change before it has run; the disk fails at the one after it.
			database.exec("PRAGMA query_only = ON");
			throw new Error("its own fault");
		});
		const waiting = commit(1);
		await expect(thrown).rejects.toThrow("its own fault");
		expect(store.health().ok).toBe(false);
		expect(seen.answered).toEqual([]);
		database.exec("PRAGMA query_only = OFF");
		await waiting;
		expect(numbersIn(store)).toEqual([1]);
	});

	test("health recovers by itself once the queued changes are written", async () => {
		const { store, database } = await openWithConnection(newPath(), { driver });
		database.exec("PRAGMA query_only = ON");
		const waiting = store.commit((transaction) => transaction.appendEvent(eventWith(1), 1));
		await until(() => !store.health().ok);
		database.exec("PRAGMA query_only = OFF");
		await waiting;
		expect(store.health().ok).toBe(true);
		expect(numbersIn(store)).toEqual([1]);
	});

	test("a change that the database refuses half way is skipped alone, and uses no number (A3)", async () => {
		const { store } = await openWithConnection(newPath(), { driver });
		const { seen, commit } = watch(store);
		const attempt = {
			taskId: "t",
			n: 1,
			runId: "r",
			startedAtMs: 0,
			endedAtMs: 0,
			error: null,
			log: "",
		};
		await store.commit((transaction) => transaction.putAttempt(attempt));
		const refused = [0, 1].map((number) =>
			store.commit((transaction) => {
				transaction.appendEvent(eventWith(90 + number), 9);
				transaction.putAttempt(attempt);
				transaction.appendEvent(eventWith(95 + number), 9);
			}),
		);
		const answers = range(3).map((number) => commit(number));
		for (const each of refused) await expect(each).rejects.toThrow(/attempts/);
		await Promise.all(answers);
		expect(seen).toMatchObject({ answered: range(3), received: range(3), refused: [], ran: 3 });
		expect(numbersIn(store)).toEqual(range(3));
		expect(store.lastSeq()).toBe(3);
	});

	test("beyond the bound, changes are refused with the reason (A6)", async () => {
		const path = newPath();
		const store = await open(path, { driver, limits: { waitingMax: 25 } });
		const { seen, commit } = watch(store);
		const other = await connect(path, driver);
		other.exec("BEGIN IMMEDIATE");
		const first = range(10).map((number) => commit(number));
		await until(() => !store.health().ok);
		const more = range(20).map((number) => commit(number + 10));
		await Promise.all(more.slice(15));
		expect(seen.refused).toHaveLength(5);
		expect(seen.refused[0]).toMatchObject({
			code: "store_unavailable",
			message: expect.stringMatching(/25 queued changes .* locked by another program/),
		});
		other.exec("ROLLBACK");
		await Promise.all([...first, ...more]);
		expect(seen).toMatchObject({ answered: range(25), received: range(25) });
		expect(numbersIn(store)).toEqual(range(25));
	});

	test("closing times out, and reports the changes that were not stored", async () => {
		const path = newPath();
		const store = await open(path, { driver, limits: { closeWithinMs: 200 } });
		const { seen, commit } = watch(store);
		const other = await connect(path, driver);
		other.exec("BEGIN IMMEDIATE");
		const answers = range(3).map((number) => commit(number));
		const startedMs = performance.now();
		await Promise.all([store.close(), ...answers]);
		expect(performance.now() - startedMs).toBeLessThan(2_000);
		expect(seen.refused).toHaveLength(3);
		expect(String(seen.refused[0])).toMatch(/the store was closed first: .*locked/);
		other.exec("ROLLBACK");
		expect(numbersIn(await open(path, { driver }))).toEqual([]);
	});

	test("closing waits for a lock that is released in time", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const { seen, commit } = watch(store);
		const other = await connect(path, driver);
		other.exec("BEGIN IMMEDIATE");
		void commit(1);
		await until(() => !store.health().ok);
		setTimeout(() => other.exec("ROLLBACK"), 100);
		await store.close();
		expect(seen).toMatchObject({ answered: [1], refused: [] });
		expect(numbersIn(await open(path, { driver }))).toEqual([1]);
	});

	test.each(["", "-wal"])(
		"a file%s that was moved away: no change is lost in the unlinked file",
		async (end) => {
			const path = newPath();
			const store = await open(path, { driver });
			const { seen, commit } = watch(store);
			await commit(1);
			renameSync(`${path}${end}`, `${path}.away`);
			const waiting = commit(2);
			await until(() => !store.health().ok);
			expect(reasonOf(store)).toContain(`${path}${end} was removed or replaced while in use`);
			closeSync(openSync(`${path}${end}`, "w"));
			await wait(60);
			expect(store.health().ok).toBe(false);
			renameSync(`${path}.away`, `${path}${end}`);
			await waiting;
			expect(seen).toMatchObject({ answered: [1, 2], received: [1, 2] });
			await store.close();
			expect(numbersIn(await open(path, { driver }))).toEqual([1, 2]);
		},
	);
});
