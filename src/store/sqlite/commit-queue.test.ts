import { afterEach, expect, test, vi } from "vitest";
import { CommitQueue, DEFAULT_LIMITS } from "./commit-queue.js";
import type { BatchWriter, PendingChange } from "./writer.js";

afterEach(() => vi.restoreAllMocks());

/** A queue whose batches take this long on a clock of their own. */
function createQueue(tookMs: number) {
	let nowMs = 1_000;
	vi.spyOn(performance, "now").mockImplementation(() => nowMs);
	const sizes: number[] = [];
	const writer = {
		write(batch: readonly PendingChange[]) {
			nowMs += tookMs;
			sizes.push(batch.length);
			for (const each of batch) each.outcome = { ok: true, result: 0, operations: [], undo: [] };
			return { ok: true, events: [] };
		},
	} as unknown as BatchWriter;
	const queue = new CommitQueue(writer, () => {}, DEFAULT_LIMITS);
	return { queue, sizes, commit: () => queue.commit(() => 0) };
}

test("after several changes at once, the next batch collects as long as the last one took", async () => {
	const { commit, sizes } = createQueue(7);
	await Promise.all([commit(), commit()]);
	const schedule = vi.spyOn(globalThis, "setTimeout");
	await commit();
	expect(schedule).toHaveBeenCalledWith(expect.any(Function), 7);
	expect(sizes).toEqual([2, 1]);
});

test("a change that comes alone is written at once", async () => {
	const { commit, sizes } = createQueue(7);
	await commit();
	const schedule = vi.spyOn(globalThis, "setTimeout");
	await commit();
	expect(schedule).not.toHaveBeenCalledWith(expect.any(Function), 7);
	expect(sizes).toEqual([1, 1]);
});

test("a slow disk makes no batch wait longer than 10 ms", async () => {
	const { commit } = createQueue(5_000);
	await Promise.all([commit(), commit()]);
	const schedule = vi.spyOn(globalThis, "setTimeout");
	await commit();
	expect(schedule).toHaveBeenCalledWith(expect.any(Function), 10);
});
