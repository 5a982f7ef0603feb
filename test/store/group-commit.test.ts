import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { StoreTransaction } from "../../src/ports/store.js";
import { agentNamed, eventWith } from "../../src/testing/conformance/store-records.js";
import {
	connect,
	DRIVERS,
	newPath,
	numbersIn,
	open,
	openWithConnection,
	range,
	until,
} from "./support.js";

const append = (number: number) => (transaction: StoreTransaction) =>
	transaction.appendEvent(eventWith(number), number);

describe.each(DRIVERS)("group commit in %s", (driver) => {
	test("a thousand changes at once share few transactions, in order", async () => {
		const { store, statements } = await openWithConnection(newPath(), { driver });
		const answers = range(1_000).map((number) =>
			store.commit((transaction) => {
				append(number)(transaction);
				return number;
			}),
		);
		expect(await Promise.all(answers)).toEqual(range(1_000));
		expect(statements.filter((sql) => sql === "COMMIT").length).toBeLessThanOrEqual(3);
		expect(numbersIn(store)).toEqual(range(1_000));
	});

	test("more changes than one transaction can hold are applied in order", async () => {
		const limits = { batchMax: 10 };
		const { store, statements } = await openWithConnection(newPath(), { driver, limits });
		await Promise.all(range(95).map((number) => store.commit(append(number))));
		expect(statements.filter((sql) => sql === "COMMIT")).toHaveLength(10);
		expect(numbersIn(store)).toEqual(range(95));
	});

	test("the sequence has no gap, whichever change fails (A3)", async () => {
		const change = fc.record({
			events: fc.nat(3),
			ends: fc.constantFrom("well", "well", "throws", "throws early", "breaks a rule"),
			pause: fc.boolean(),
		});
		const store = await open(newPath(), { driver });
		let given = store.lastSeq();
		await fc.assert(
			fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
				const before = store.lastSeq();
				const answers: Promise<unknown>[] = [];
				const expected: number[] = [];
				for (const { events, ends, pause } of changes) {
					const numbers = range(events).map(() => given++);
					if (ends === "well") expected.push(...numbers);
					const answer = store.commit((transaction) => {
						if (ends === "throws early") throw new Error("early");
						for (const number of numbers) append(number)(transaction);
						transaction.putAgent(agentNamed("a", { restarts: given }));
						if (ends === "throws") throw new Error("late");
						if (ends === "breaks a rule") append(Number.NaN)(transaction);
					});
					answers.push(
						answer.then(
							() => expect(ends).toBe("well"),
							() => expect(ends).not.toBe("well"),
						),
					);
					if (pause) await new Promise(setImmediate);
				}
				await Promise.all(answers);
				const stored = store.readEvents({ afterSeq: before, limit: 1_000 });
				expect(stored.map(({ seq }) => seq)).toEqual(
					expected.map((_, index) => before + index + 1),
				);
				expect(stored.map((event) => (event.data as { pid: number }).pid)).toEqual(expected);
			}),
			{ numRuns: 60 },
		);
		numbersIn(store);
	});

	test("a change that is asynchronous is refused, and cannot write later", async () => {
		const store = await open(newPath(), { driver });
		let later: (() => void) | null = null;
		const answer = store.commit(async (transaction) => {
			append(1)(transaction);
			later = () => append(2)(transaction);
		});
		await expect(answer).rejects.toThrow("a change must be synchronous");
		expect(later).toThrow("the transaction has ended");
		expect(numbersIn(store)).toEqual([]);
	});

	test("listeners get events in order, once they are durable and before the commit resolves", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const elsewhere = await connect(path, driver);
		const log: string[] = [];
		const isStored = (seq: number) =>
			elsewhere.readValue(`SELECT count(*) FROM events WHERE seq = ${seq}`) === 1;
		store.onCommit((events) => {
			for (const { seq } of events) log.push(`received ${seq}, stored: ${isStored(seq)}`);
		});
		await Promise.all(
			range(2).map(async (number) => {
				await store.commit(append(number));
				log.push(`answered ${number}`);
			}),
		);
		await store.commit((transaction) => transaction.putAgent(agentNamed("no event")));
		await store.commit(append(2));
		expect(log).toEqual([
			"received 1, stored: true",
			"received 2, stored: true",
			"answered 0",
			"answered 1",
			"received 3, stored: true",
		]);
	});

	test("a listener that throws breaks neither other listeners nor the commit", async () => {
		const onListenerError = vi.fn();
		const store = await open(newPath(), { driver, onListenerError });
		const received: number[] = [];
		const leave = store.onCommit(() => {
			throw new Error("bad listener");
		});
		store.onCommit((events) => received.push(...events.map(({ seq }) => seq)));
		await store.commit(append(1));
		leave();
		await store.commit(append(2));
		expect(received).toEqual([1, 2]);
		expect(onListenerError).toHaveBeenCalledTimes(1);
	});

	test("a listener and a change may commit themselves, for a later turn", async () => {
		const store = await open(newPath(), { driver });
		let inner: Promise<unknown> | null = null;
		store.onCommit((events) => {
			if (events[0]?.seq === 1) void store.commit(append(2));
		});
		await store.commit((transaction) => {
			append(1)(transaction);
			inner = store.commit(append(3));
		});
		await inner;
		await until(() => store.lastSeq() === 3);
		expect(numbersIn(store).toSorted()).toEqual([1, 2, 3]);
	});

	test("closing writes the queued changes, and later ones are rejected", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const answers = range(20).map((number) => store.commit(append(number)));
		const closing = store.close();
		await expect(store.commit(append(99))).rejects.toMatchObject({
			code: "store_unavailable",
			message: "The change was not stored: the store is closed.",
		});
		await Promise.all([...answers, closing, store.close()]);
		expect(store.health().ok).toBe(false);
		expect(numbersIn(await open(path, { driver }))).toEqual(range(20));
	});

	test("the database itself refuses to change, remove or skip an event (A3)", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		await store.commit(append(1));
		const elsewhere = await connect(path, driver);
		const insert = "INSERT OR REPLACE INTO events (seq, at_ms, type, record) VALUES";
		for (const sql of [
			"UPDATE events SET type = 'x'",
			"DELETE FROM events",
			`${insert} (3, 0, 'x', '{}')`,
			`${insert} (1, 0, 'x', '{}')`,
		]) {
			expect(() => elsewhere.exec(sql)).toThrow(/events? (are|must)/);
		}
		expect(numbersIn(store)).toEqual([1]);
	});
});
