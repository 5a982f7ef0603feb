/** Requests from outside while nothing can be written: each is accepted or refused, never both. */

import { expect, test } from "vitest";
import type { StoreTransaction } from "../../src/ports/store.js";
import { readPragma } from "../../src/store/sqlite/migrations.js";
import { agentNamed, eventWith } from "../../src/testing/conformance/store-records.js";
import { connect, newPath, numbersIn, open, openWithConnection, until } from "./support.js";

const LIMITS = { patienceMs: 100 };

test("a request without a durable change is rejected, and has no later effect", async () => {
	const path = newPath();
	const store = await open(path, { limits: LIMITS });
	const other = await connect(path);
	other.exec("BEGIN IMMEDIATE");
	const refused = store.accept(() =>
		store.commit((transaction) => transaction.appendEvent(eventWith(1), 0)),
	);
	await expect(refused).rejects.toMatchObject({
		code: "store_unavailable",
		message: expect.stringContaining("Nothing was done"),
	});
	other.exec("ROLLBACK");
	await until(() => store.health().ok);
	await store.commit((transaction) => transaction.appendEvent(eventWith(2), 0));
	expect(numbersIn(store)).toEqual([2]);
});

test("a refused request cannot change anything afterwards, however long it took", async () => {
	const path = newPath();
	const store = await open(path, { limits: LIMITS });
	const other = await connect(path);
	other.exec("BEGIN IMMEDIATE");
	let goOn = () => {};
	let late: Promise<unknown> = Promise.resolve();
	// A commit of the engine itself detects that nothing can be written.
	const own = store.commit((transaction) => transaction.appendEvent(eventWith(1), 0));
	const refused = store.accept(async () => {
		await new Promise<void>((resolve) => {
			goOn = resolve;
		});
		late = store.commit((transaction) => transaction.appendEvent(eventWith(2), 0));
		await late;
	});
	await expect(refused).rejects.toMatchObject({ code: "store_unavailable" });
	other.exec("ROLLBACK");
	await own;
	goOn();
	await until(() => store.health().ok);
	await new Promise(setImmediate);
	await expect(late).rejects.toMatchObject({ code: "store_unavailable" });
	expect(numbersIn(store)).toEqual([1]);
});

test("a request whose changes ran but could not be committed is withdrawn, in memory too (T4)", async () => {
	const { store, database } = await openWithConnection(newPath(), { limits: LIMITS });
	const believed = new Set<number>();
	const note = (transaction: StoreTransaction, number: number) => {
		believed.add(number);
		transaction.onRollback(() => believed.delete(number));
		transaction.appendEvent(eventWith(number), 0);
		transaction.putAgent(agentNamed(`a${number}`, { reason: "x".repeat(100_000) }));
	};
	const pages = Number(readPragma(database, "page_count"));
	database.exec(`PRAGMA max_page_count = ${pages + 4}`);
	const refused = store.accept(() => store.commit((transaction) => note(transaction, 1)));
	// The engine's own change saw the first one, and is kept without it.
	const own = store.commit((transaction) => {
		note(transaction, 2);
		return [...believed];
	});
	await expect(refused).rejects.toMatchObject({
		code: "store_unavailable",
		message: expect.stringContaining("Nothing was done"),
	});
	expect([...believed]).toEqual([]);
	database.exec("PRAGMA max_page_count = 1000000");
	expect(await own).toEqual([2]);
	expect(numbersIn(store)).toEqual([2]);
	expect([...believed]).toEqual([2]);
});

test("a change that fails by itself leaves no trace in memory", async () => {
	const store = await open(newPath(), { limits: LIMITS });
	let counter = 0;
	const add = (transaction: StoreTransaction) => {
		const before = counter;
		transaction.onRollback(() => {
			counter = before;
		});
		counter += 1;
	};
	const failing = store.commit((transaction) => {
		add(transaction);
		add(transaction);
		throw new Error("wrong");
	});
	const good = store.commit(add);
	await expect(failing).rejects.toThrow("wrong");
	await good;
	expect(counter).toBe(1);
});

test("timers that a refused request left behind may store again", async () => {
	const path = newPath();
	const store = await open(path, { limits: LIMITS });
	const other = await connect(path);
	other.exec("BEGIN IMMEDIATE");
	let later: Promise<unknown> = Promise.resolve();
	const refused = store.accept(async () => {
		setTimeout(() => {
			later = store.commit((transaction) => transaction.appendEvent(eventWith(2), 0));
		}, 300);
		await store.commit((transaction) => transaction.appendEvent(eventWith(1), 0));
	});
	await expect(refused).rejects.toMatchObject({ code: "store_unavailable" });
	other.exec("ROLLBACK");
	await until(() => store.lastSeq() === 1);
	await later;
	expect(numbersIn(store)).toEqual([2]);
});

test("a request that is partly durable is reported as unfinished, and continues when possible", async () => {
	const path = newPath();
	const store = await open(path, { limits: LIMITS });
	const other = await connect(path);
	const pending = store.accept(async () => {
		await store.commit((transaction) => transaction.appendEvent(eventWith(1), 0));
		other.exec("BEGIN IMMEDIATE");
		await store.commit((transaction) => transaction.appendEvent(eventWith(2), 0));
	});
	await expect(pending).rejects.toMatchObject({
		code: "outcome_pending",
		message: expect.stringMatching(/^started but not finished: .*lost if the daemon stops first/),
	});
	other.exec("ROLLBACK");
	await until(() => store.lastSeq() === 2);
	expect(numbersIn(store)).toEqual([1, 2]);
});

test("the engine's own changes wait without a limit", async () => {
	const path = newPath();
	const store = await open(path, { limits: LIMITS });
	const other = await connect(path);
	other.exec("BEGIN IMMEDIATE");
	const own = store.commit((transaction) => transaction.appendEvent(eventWith(1), 0));
	await new Promise((resolve) => setTimeout(resolve, 300));
	other.exec("ROLLBACK");
	await own;
	expect(numbersIn(store)).toEqual([1]);
});
