import { statSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	agentNamed,
	effectFor,
	exitOf,
	runNumbered,
} from "../../src/testing/conformance/store-records.js";
import { DRIVERS, newPath, open } from "./support.js";

describe.each(DRIVERS)("records in %s", (driver) => {
	test("the database itself rejects an exit without its run (S8)", async () => {
		const store = await open(newPath(), { driver });
		await expect(store.commit((transaction) => transaction.putExit(exitOf(1)))).rejects.toThrow(
			/FOREIGN KEY/,
		);
		await store.commit((transaction) => {
			transaction.putRun(runNumbered(1));
			transaction.putExit(exitOf(1));
			transaction.putExit(exitOf(1, { reason: "stored again" }));
		});
		expect(store.readExits("web:a", 10)).toEqual([exitOf(1, { reason: "stored again" })]);
	});

	test("any text is returned unchanged, including NUL and lone surrogates", async () => {
		const store = await open(newPath(), { driver });
		const text = fc.string({ unit: "binary", maxLength: 20 });
		const broken = fc.constantFrom("a\0b", "\ud800", "\udfff\ud800", "'; --", "\u2028");
		const any = fc.oneof(text, broken);
		await fc.assert(
			fc.asyncProperty(any, any, fc.jsonValue(), async (reason, key, payload) => {
				const agent = agentNamed("a", { reason, spec: payload });
				const effect = effectFor(`k${key}`, { payload: { agent: key, afterMs: 1 } });
				await store.commit((transaction) => {
					transaction.putAgent(agent);
					transaction.putEffect(effect);
				});
				expect(store.readAgents()[0]?.reason).toBe(reason);
				// -0 is no JSON.
				expect(store.readAgents()[0]?.spec).toEqual(JSON.parse(JSON.stringify(payload)));
				expect(store.readEffects("start")).toEqual([effect]);
				await store.commit((transaction) => transaction.removeEffect(effect.key));
				expect(store.readEffects("start")).toEqual([]);
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
