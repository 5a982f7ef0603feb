/** The store's own process, killed with SIGKILL at any moment. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { DriverName } from "../../src/store/sqlite/driver.js";
import { eventWith } from "../../src/testing/conformance/store-records.js";
import { DRIVERS, newPath, numbersIn, open, range, wait } from "./support.js";

const ROUNDS = 20;
const built = (file: string) => resolve("build/store/sqlite", file);
const fixture = (file: string) => resolve("test/fixtures/store", file);

/** Runs the committing program for a while, kills it, and returns the acknowledged commits. */
async function commitAndKill(path: string, driver: DriverName): Promise<number[]> {
	const args = [fixture("commits-until-killed.mjs"), built("open-store.js"), path, driver];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
	const output = Promise.all([text(child.stdout), text(child.stderr)]);
	await Promise.race([once(child.stdout, "readable"), once(child, "exit")]);
	await wait(Math.random() * 60);
	child.kill("SIGKILL");
	const [stdout, stderr] = await output;
	expect(stderr).toBe("");
	return stdout.split("\n").slice(0, -1).map(Number);
}

describe.each(DRIVERS)("a process that dies, in %s", { timeout: 120_000 }, (driver) => {
	test("after kill -9 the store holds a prefix of the commits with all acknowledged ones (A1, A3)", async () => {
		const path = newPath();
		let total = 0;
		for (const _round of range(ROUNDS)) {
			const acknowledged = await commitAndKill(path, driver);
			total += acknowledged.length;
			const store = await open(path, { driver });
			const numbers = numbersIn(store);
			const halves = [0, 1].map((half) => numbers.filter((_, index) => index % 2 === half));
			// Each change is there as a whole or not at all, in the order of asking, and once.
			expect(halves[0]).toEqual(halves[1]);
			expect(halves[0]).toEqual([...new Set(halves[0])].toSorted((a, b) => a - b));
			expect(numbers).not.toContain(-1);
			const stored = new Set(numbers);
			expect(acknowledged.filter((number) => !stored.has(number))).toEqual([]);
			expect(store.readAgents()[0]?.restarts).toBe(numbers.at(-1));
			await store.close();
		}
		expect(total).toBeGreaterThan(ROUNDS);
	});

	test("a migration that was killed after any of its statements runs again (A2)", async () => {
		const modules = [built("migrations.js"), built("driver.js")];
		for (let statement = 0; ; statement++) {
			const path = newPath();
			const args = [fixture("dies-while-migrating.mjs"), ...modules, path, driver, `${statement}`];
			const child: ChildProcess = spawn(process.execPath, args, { stdio: "ignore" });
			const [code, signal] = await once(child, "exit");
			if (code === 7) {
				expect(statement).toBeGreaterThan(10);
				return;
			}
			expect([code, signal]).toEqual([null, "SIGKILL"]);
			const store = await open(path, { driver });
			await store.commit((transaction) => transaction.appendEvent(eventWith(1), 1));
			expect(numbersIn(store)).toEqual([1]);
			await store.close();
		}
	});
});
