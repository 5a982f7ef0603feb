import { expect, test } from "vitest";
import { createResourceMeter, parsePsUse } from "./resource-meter.js";

const agent = (id: string, pid: number) => ({
	id,
	handle: {
		backend: "pty",
		runId: id,
		startedAtMs: 0,
		data: {},
		process: { bootId: "b", pid, startTime: "1" },
	},
});
const use = (pid: number, ppid: number, cpuMs: number, rssBytes = 1_000) => ({
	pid,
	ppid,
	startTime: "1",
	cpuMs,
	rssBytes,
});
/** No process of this host has such a pid. */
const ROOT = 90_000_000;

test("a tree is measured as a whole, and others are not part of it", async () => {
	const tables = [
		[use(ROOT, 1, 100), use(ROOT + 1, ROOT, 50), use(ROOT + 9, 1, 5_000)],
		// The child has exited: its time is now part of its parent's.
		[use(ROOT, 1, 650)],
	];
	let nowMs = 0;
	const meter = createResourceMeter(
		async () => tables.shift() ?? [],
		() => nowMs,
	);
	const agents = [agent("p:a", ROOT)];
	expect((await meter.measure(agents)).get("p:a")).toEqual({
		memoryBytes: 2_000,
		memory: "rss",
		cpuPercent: null,
		processes: 2,
	});
	nowMs = 1_000;
	expect((await meter.measure(agents)).get("p:a")).toMatchObject({ cpuPercent: 50, processes: 1 });
	expect((await meter.measure(agents)).size, "an agent without a process has no reading").toBe(0);
});

test("the listing of systems without /proc is read", () => {
	const listing = "  12   1  2048   1:02.50 Mon Apr  5 10:00:00 2031\n junk\n";
	expect(parsePsUse(listing)).toEqual([
		{ pid: 12, ppid: 1, rssBytes: 2_097_152, cpuMs: 62_500, startTime: "Mon Apr 5 10:00:00 2031" },
	]);
});
