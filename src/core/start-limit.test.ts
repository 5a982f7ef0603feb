import fc from "fast-check";
import { expect, test } from "vitest";
import { decideStart, type StartLog } from "./start-limit.js";

test("S4 starts in any window never exceed the burst, and none waits longer than the window", () => {
	const settings = fc.record({
		burst: fc.integer({ min: 1, max: 20 }),
		withinMs: fc.integer({ min: 1, max: 10_000 }),
	});
	fc.assert(
		fc.property(settings, fc.array(fc.nat(2_000), { maxLength: 200 }), (chosen, gaps) => {
			let log: StartLog = [];
			let nowMs = 0;
			const startedAtMs: number[] = [];
			for (const gap of gaps) {
				nowMs += gap;
				let decision = decideStart(log, nowMs, chosen);
				if (decision.type === "wait") {
					expect(decision.forMs).toBeLessThanOrEqual(chosen.withinMs);
					nowMs += decision.forMs;
					decision = decideStart(log, nowMs, chosen);
				}
				if (decision.type === "wait") throw new Error("waited and still not allowed");
				log = decision.log;
				startedAtMs.push(nowMs);
			}
			expect(log.length).toBeLessThanOrEqual(chosen.burst);
			for (const [index, atMs] of startedAtMs.entries()) {
				const inWindow = startedAtMs
					.slice(0, index + 1)
					.filter((other) => other > atMs - chosen.withinMs);
				expect(inWindow.length).toBeLessThanOrEqual(chosen.burst);
			}
		}),
	);
});
