import { expect, test } from "vitest";
import type { DrainStep } from "../../core/adapter.js";
import { createManualClock } from "../../testing/manual-clock.js";
import { createScriptedBackend } from "../../testing/scripted-backend.js";
import { askToExit } from "./drain.js";
import { newSessionRun } from "./run.js";

/** The times of the steps of a busy agent that no key interrupts. */
async function timesOf(steps: readonly DrainStep[]): Promise<readonly [string, number][]> {
	const clock = createManualClock();
	const backend = createScriptedBackend({ clock });
	const run = newSessionRun("r", backend, false, 0, 0);
	const started = await backend.start({
		runId: "r",
		agentId: "p:a",
		argv: ["x"],
		cwd: "/",
		env: {},
		terminal: true,
		size: { columns: 80, rows: 24 },
		logDir: "/",
		limits: { memoryBytes: null, cpuPercent: null, pids: null },
	});
	if (!started.ok) throw new Error(started.failure.detail);
	run.handle = started.handle;
	backend.onExit(() => run.ended.resolve());
	const times: [string, number][] = [];
	let isOver = false;
	const ways = {
		steps,
		activity: () => "busy" as const,
		onStep: async (step: string) => void times.push([step, clock.now().steadyMs]),
	};
	const asked = askToExit(run, 60_000, clock, ways).then(() => {
		isOver = true;
	});
	while (!isOver) {
		await new Promise(setImmediate);
		clock.advance(50);
	}
	await asked;
	return times;
}

test("a key that a program needs twice is pressed again before the program forgets the first one", async () => {
	const times = await timesOf(["esc", "esc", "sigterm"]);
	expect(times.map(([step]) => step)).toEqual(["esc", "esc", "sigterm"]);
	const [[, first] = ["", 0], [, second] = ["", 0], [, third] = ["", 0]] = times;
	expect(second - first).toBeGreaterThanOrEqual(100);
	expect(second - first).toBeLessThan(800);
	expect(third - second).toBeGreaterThanOrEqual(3_000);
});

test("another key follows when the first one has had time to take effect", async () => {
	const [[, first] = ["", 0], [, second] = ["", 0]] = await timesOf(["esc", "ctrl_c", "sigterm"]);
	expect(second - first).toBeGreaterThanOrEqual(3_000);
});
