import { describe, expect, test } from "vitest";
import { DEFAULT_CRASH_POLICY, NEW_AGENT } from "./crash-state.js";
import { exitReport } from "./exit.js";
import { type RehearsalStep, rehearse } from "./rehearse.js";

const context = { settings: DEFAULT_CRASH_POLICY, onCleanExit: "prompt", random: 0 } as const;
const exit = (code: number, uptimeMs = 0): RehearsalStep => ({
	type: "exit",
	report: exitReport({ code, uptimeMs }),
});
const times = (count: number, step: RehearsalStep) => Array.from({ length: count }, () => step);

describe("a rehearsal", () => {
	test("honours every delay, and shows the time of each exit", () => {
		const { rows, unreached } = rehearse(NEW_AGENT, times(9, exit(1, 1_000)), context);
		expect(rows.map((row) => row.atMs / 1_000)).toEqual([1, 4, 7, 38, 69, 100, 131]);
		expect(rows.at(-1)).toMatchObject({ policy: "halted", class: "flapping", kind: "failed" });
		expect(unreached).toBe(2);
	});

	test("continues after a resume", () => {
		const steps = [...times(8, exit(1)), { type: "resume" } as const, exit(1)];
		const { rows, unreached } = rehearse(NEW_AGENT, steps, context);
		expect(rows.slice(-2)).toMatchObject([
			{ policy: "healthy", kind: null, class: null, action: { type: "restart", afterMs: 0 } },
			{ policy: "healthy", class: "transient" },
		]);
		expect(unreached).toBe(1);
	});

	test("assumes that the operator answers at once", () => {
		const { rows } = rehearse(NEW_AGENT, [exit(0, 5_000), exit(0, 5_000)], context);
		expect(rows.map((row) => row.atMs)).toEqual([5_000, 10_000]);
	});
});
