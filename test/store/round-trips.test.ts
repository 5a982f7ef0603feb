import { statSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NewEvent } from "../../src/ports/store.js";
import {
	agentNamed,
	DRIVERS,
	effectFor,
	eventWith,
	exitOf,
	newPath,
	open,
	range,
	runNumbered,
} from "./support.js";

describe.each(DRIVERS)("what is stored in %s", (driver) => {
	test("agents come back as they were, by file and position", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const second = agentNamed("b", { position: 1, restarts: 7, waiting: true, desired: "down" });
		const first = agentNamed("z", { position: 0, spec: null });
		const other = agentNamed("a", { fleetFile: "/srv/other.yaml" });
		await store.commit((transaction) => {
			for (const agent of [second, first, other]) transaction.putAgent(agent);
		});
		expect(store.readAgents()).toEqual([other, first, second]);
		const moved = { ...first, position: 2, reason: "moved" };
		await store.commit((transaction) => {
			transaction.putAgent(moved);
			transaction.removeAgent(other.id);
			transaction.removeAgent("web:missing");
		});
		await store.close();
		expect((await open(path, { driver })).readAgents()).toEqual([second, moved]);
	});

	test("runs come back until they have ended, in the order of their intention", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const intended = runNumbered(2, { state: "intended", handle: null });
		const runs = [runNumbered(3), runNumbered(1, { askedBy: "operator" }), intended];
		await store.commit((transaction) => {
			for (const run of runs) transaction.putRun(run);
		});
		expect(store.readOpenRuns()).toEqual(runs);
		await store.commit((transaction) => transaction.putRun(runNumbered(3, { state: "ended" })));
		await store.close();
		expect((await open(path, { driver })).readOpenRuns()).toEqual(runs.slice(1));
	});

	test("exits come back newest first, though the wall clock was set back", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		const exits = range(5).map((number) => exitOf(number, { atMs: 1_000 - number }));
		const strange = exitOf(9, { agentId: "web:b", code: null, signal: "SIGKILL", class: null });
		await store.commit((transaction) => {
			for (const number of [...range(5), 9]) transaction.putRun(runNumbered(number));
			for (const exit of [...exits, strange]) transaction.putExit(exit);
		});
		await store.close();
		const again = await open(path, { driver });
		expect(again.readExits("web:a", 3)).toEqual(exits.toReversed().slice(0, 3));
		expect(again.readExits("web:b", 10)).toEqual([strange]);
		expect(again.readExits("web:a", -1)).toEqual([]);
		expect(again.readExits("web:a", Number.POSITIVE_INFINITY)).toHaveLength(5);
	});

	test("a run has one exit, and an exit has its run (S8)", async () => {
		const store = await open(newPath(), { driver });
		await expect(store.commit((transaction) => transaction.putExit(exitOf(1)))).rejects.toThrow(
			/FOREIGN KEY/,
		);
		await store.commit((transaction) => {
			transaction.putRun(runNumbered(1));
			transaction.putExit(exitOf(1));
			transaction.putExit(exitOf(1, { reason: "sent again" }));
		});
		expect(store.readExits("web:a", 10)).toEqual([exitOf(1, { reason: "sent again" })]);
	});

	test("effects come back by when they are due, one for each key", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		await store.commit((transaction) => {
			transaction.putEffect(effectFor("late", { dueAtMs: 3 }));
			transaction.putEffect(effectFor("early", { dueAtMs: 1 }));
			transaction.putEffect(effectFor("late", { dueAtMs: 2.5, payload: ["replaced"] }));
			transaction.putEffect(effectFor("done"));
			transaction.removeEffect("done");
		});
		await store.close();
		expect((await open(path, { driver })).readEffects()).toEqual([
			effectFor("early", { dueAtMs: 1 }),
			effectFor("late", { dueAtMs: 2.5, payload: ["replaced"] }),
		]);
	});

	test("events come back numbered from 1, dated, after any of them and for one agent (A3)", async () => {
		const path = newPath();
		const store = await open(path, { driver });
		expect(store.lastSeq()).toBe(0);
		const full: NewEvent = {
			type: "task.changed",
			task: "t1",
			plan: "p1",
			run_id: "r1",
			correlation_id: "c1",
			data: {
				...{
					from: "queued",
					to: "dispatched",
					attempt: 1,
					error: null,
					code: null,
					duration_ms: null,
				},
				reason: "its turn",
			},
		};
		await store.commit((transaction) => {
			transaction.appendEvent(eventWith(1, "web:a"), 0);
			transaction.appendEvent(full, 1_700_000_000_123);
			transaction.appendEvent(eventWith(2, "web:b"), 5);
			transaction.appendEvent(eventWith(3, "web:a"), 4);
		});
		await store.close();
		const again = await open(path, { driver });
		const all = again.readEvents({ afterSeq: 0, limit: 10 });
		expect(all).toEqual([
			{ seq: 1, at: "1970-01-01T00:00:00.000Z", ...eventWith(1, "web:a") },
			{ seq: 2, at: "2023-11-14T22:13:20.123Z", ...full },
			{ seq: 3, at: "1970-01-01T00:00:00.005Z", ...eventWith(2, "web:b") },
			{ seq: 4, at: "1970-01-01T00:00:00.004Z", ...eventWith(3, "web:a") },
		]);
		expect(again.readEvents({ afterSeq: 1, limit: 2 })).toEqual(all.slice(1, 3));
		expect(again.readEvents({ afterSeq: 1, limit: 9, agent: "web:a" })).toEqual(all.slice(3));
		expect(again.readEvents({ afterSeq: 4, limit: 9 })).toEqual([]);
		expect(again.lastSeq()).toBe(4);
	});

	test("any text comes back to the letter, NUL and broken surrogates too", async () => {
		const store = await open(newPath(), { driver });
		const text = fc.string({ unit: "binary", maxLength: 20 });
		const broken = fc.constantFrom("a\0b", "\ud800", "\udfff\ud800", "'; --", "\u2028");
		const any = fc.oneof(text, broken);
		await fc.assert(
			fc.asyncProperty(any, any, fc.jsonValue(), async (reason, key, payload) => {
				const agent = agentNamed("a", { reason, spec: payload });
				// -0 is no JSON.
				const effect = effectFor(`k${key}`, { payload: JSON.parse(JSON.stringify(payload)) });
				await store.commit((transaction) => {
					transaction.putAgent(agent);
					transaction.putEffect(effect);
				});
				expect(store.readAgents()[0]?.reason).toBe(reason);
				expect(store.readEffects()).toEqual([effect]);
				await store.commit((transaction) => transaction.removeEffect(effect.key));
				expect(store.readEffects()).toEqual([]);
			}),
			{ numRuns: 60 },
		);
	});

	test("only the owner can read its files", async () => {
		const path = newPath();
		const before = process.umask(0);
		try {
			const store = await open(path, { driver });
			await store.commit((transaction) => transaction.putAgent(agentNamed("a")));
			const modes = [path, `${path}-wal`, `${path}-shm`].map((file) => statSync(file).mode & 0o777);
			expect(modes).toEqual([0o600, 0o600, 0o600]);
		} finally {
			process.umask(before);
		}
	});
});
