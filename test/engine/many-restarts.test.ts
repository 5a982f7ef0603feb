/**
 * Endless restarts: memory, open files and the database stay within bounds, the sequence of events has
 * no gap, and the crash policy's state is not affected. REEVE_RESTARTS makes it long (10000).
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_RETENTION } from "../../src/core/retention.js";
import { open } from "../store/support.js";
import { temporaryFolder } from "../support/reeve.js";
import { createDaemonWorldOn, fleetOf } from "./daemon-world.js";

const RESTARTS = Number(process.env["REEVE_RESTARTS"] ?? 2_000);
const KEPT = { ...DEFAULT_RETENTION, eventsMax: 2_000, eventsMin: 100, exitsMax: 100 };
const CYCLE_MS = 100_000;

test(`${RESTARTS} restarts leave bounded history, memory and files (A3, A6)`, {
	timeout: 1_800_000,
}, async () => {
	const folder = temporaryFolder();
	const store = await open(join(folder, "reeve.db"));
	const world = await createDaemonWorldOn(store);
	world.backend.script("p:a", { livesMs: CYCLE_MS / 2, code: 3 });
	// One exit in a stable run after the other, and no budget that would end it.
	const policy = "crash_policy: { window: 10s, budget: { exits: 1000, within: 1m } }";
	await world.engine.up(fleetOf(`a: { command: [x], ${policy} }`), "*");

	async function restart(times: number): Promise<void> {
		for (let done = 0; done < times; done++) {
			const before = world.backend.started.length;
			world.clock.advance(CYCLE_MS / 2);
			await world.settle();
			world.clock.advance(CYCLE_MS / 2 - 1_000);
			for (let looks = 0; world.backend.started.length === before; looks++) {
				if (looks > 1_000) throw new Error("it was not restarted");
				await world.settle();
			}
			if (done % 500 === 0) await store.prune(KEPT, world.clock.now().wallMs);
		}
		const agents = store.readAgents();
		await store.prune(KEPT, world.clock.now().wallMs);
		expect(store.readAgents()).toEqual(agents);
	}
	const measure = () => {
		(globalThis as { gc?: () => void }).gc?.();
		return {
			bytes: readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0),
			files: process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0,
			heap: process.memoryUsage().heapUsed,
		};
	};

	await restart(RESTARTS / 5);
	const early = measure();
	await restart((RESTARTS / 5) * 4);
	const late = measure();

	expect(world.errors).toEqual([]);
	expect(store.readAgents()[0]).toMatchObject({ restarts: RESTARTS });
	expect(late.bytes).toBeLessThan(early.bytes * 1.2 + 1_000_000);
	expect(late.files).toBeLessThanOrEqual(early.files + 2);
	expect(late.heap).toBeLessThan(early.heap + 40_000_000);

	const [lastSeq, firstSeq] = [store.lastSeq(), store.firstSeq()];
	expect(lastSeq - firstSeq + 1).toBe(KEPT.eventsMax);
	const events = store.readEvents({ afterSeq: 0, limit: 1e6 });
	expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => firstSeq + index));
	expect(store.readExits("p:a", 1e6)).toHaveLength(KEPT.exitsMax);
	expect(store.readOpenRuns()).toHaveLength(1);
});
