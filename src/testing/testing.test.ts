import { describe, expect, test } from "vitest";
import { createManualClock } from "./manual-clock.js";
import { createRandom } from "./random.js";

describe("the manual clock", () => {
	test("runs due timers in order, each at its own time, including timers that they create", () => {
		const clock = createManualClock();
		const ran: string[] = [];
		const note = (name: string) => () => ran.push(`${name} at ${clock.now().steadyMs}`);
		clock.schedule(20, note("late"));
		clock.schedule(10, () => {
			note("early")();
			clock.schedule(5, note("nested"));
		});
		clock.schedule(10, note("second"));
		clock.advance(19);
		expect(ran).toEqual(["early at 10", "second at 10", "nested at 15"]);
		expect(clock.pending).toBe(1);
		clock.advance(1);
		expect(ran.at(-1)).toBe("late at 20");
	});

	test("does not run cancelled timers", () => {
		const clock = createManualClock();
		const cancel = clock.schedule(1, () => expect.unreachable());
		cancel();
		clock.advance(10);
		expect(clock.pending).toBe(0);
	});

	test("sets the wall clock without advancing time", () => {
		const clock = createManualClock({ steadyMs: 5, wallMs: 100 });
		clock.stepWall(-86_400_000);
		clock.advance(10);
		expect(clock.now()).toEqual({ steadyMs: 15, wallMs: 110 - 86_400_000 });
		expect(() => clock.advance(-1)).toThrow(/backwards/);
	});
});

describe("random numbers from a seed", () => {
	test("are the same for the same seed and different for another", () => {
		const draw = (seed: number) => {
			const random = createRandom(seed);
			return Array.from({ length: 20 }, () => random.next());
		};
		expect(draw(42)).toEqual(draw(42));
		expect(draw(42)).not.toEqual(draw(43));
		expect(draw(42)[0]).toBeCloseTo(0.6011037519201636, 12);
	});

	test("stay within their bounds and reach both ends", () => {
		const random = createRandom(1);
		const drawn = Array.from({ length: 2_000 }, () => random.int(-2, 2));
		expect([...new Set(drawn)].sort((a, b) => a - b)).toEqual([-2, -1, 0, 1, 2]);
		const picked = new Set(Array.from({ length: 100 }, () => random.pick(["a", "b"])));
		expect(picked).toEqual(new Set(["a", "b"]));
		const hits = Array.from({ length: 10_000 }, () => random.chance(0.3)).filter(Boolean).length;
		expect(hits / 10_000).toBeCloseTo(0.3, 1);
	});
});
