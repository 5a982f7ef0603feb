import { describe, expect, test } from "vitest";
import {
	decideHealth,
	decideHealthRestart,
	HEALTH_ACTIONS,
	type HealthState,
	NO_HEALTH_CHECK,
	renderNoAnswer,
	renderUnhealthy,
} from "./health.js";
import { ACTIVITIES } from "./states.js";

const SETTINGS = { failures: 3, startPeriodMs: 0 };

/** The state and the reported changes after these checks, one second apart; `x` fails, `o` succeeds. */
function stateAfter(checks: string, settings = SETTINGS) {
	let state: HealthState = NO_HEALTH_CHECK;
	const changes: (string | null)[] = [];
	for (const [index, result] of [...checks].entries()) {
		const check = { error: result === "x" ? `error ${index}` : null, atMs: index * 1_000 };
		const decision = decideHealth(state, check, index * 1_000, settings);
		state = decision.state;
		changes.push(decision.change);
	}
	return { state, changes: changes.flatMap((change, at) => (change ? [`${at} ${change}`] : [])) };
}

describe("an agent becomes unhealthy", () => {
	test("at the failure that reaches the limit, and is reported once", () => {
		expect(stateAfter("xx").changes).toEqual([]);
		expect(stateAfter("xxxxx")).toEqual({
			state: {
				last: { error: "error 4", atMs: 4_000 },
				failures: 5,
				hasPassed: false,
				unhealthySinceMs: 2_000,
			},
			changes: ["2 unhealthy"],
		});
	});

	test("only by failures in a row", () => {
		expect(stateAfter("xxoxxoxx")).toMatchObject({ changes: [], state: { failures: 2 } });
	});

	test("until a check succeeds, and again after that", () => {
		expect(stateAfter("xxxxoxxxo").changes).toEqual([
			"2 unhealthy",
			"4 recovered",
			"7 unhealthy",
			"8 recovered",
		]);
		expect(stateAfter("xxxo").state).toMatchObject({ failures: 0, unhealthySinceMs: null });
	});

	test("not by failures in the start period, unless a check has succeeded", () => {
		const settings = { failures: 2, startPeriodMs: 4_000 };
		expect(stateAfter("xxxx", settings).state).toMatchObject({
			failures: 0,
			last: { atMs: 3_000 },
		});
		expect(stateAfter("xxxxxx", settings).changes).toEqual(["5 unhealthy"]);
		expect(stateAfter("oxx", settings).changes).toEqual(["2 unhealthy"]);
	});
});

describe("an unhealthy agent", () => {
	const run = { activity: null, isDelivering: false };

	test("is never restarted under `notify`", () => {
		for (const activity of [...ACTIVITIES, null]) {
			const settings = { action: "notify", interruptTurn: true } as const;
			expect(decideHealthRestart(settings, { ...run, activity })).toEqual({
				restart: false,
				reason: null,
			});
		}
	});

	test("is restarted under `restart`, an agent CLI only where it has no turn to lose", () => {
		const settings = { action: "restart", interruptTurn: false } as const;
		const restarted = [...ACTIVITIES, null].filter(
			(activity) => decideHealthRestart(settings, { ...run, activity }).restart,
		);
		expect(restarted).toEqual(["starting", "ready", null]);
		expect(decideHealthRestart(settings, { ...run, activity: "busy" })).toEqual({
			restart: false,
			reason: "not restarted in the middle of a turn",
		});
		const delivering = { activity: "ready", isDelivering: true } as const;
		expect(decideHealthRestart(settings, delivering)).toMatchObject({ restart: false });
	});

	test("is restarted in any state if turns may be interrupted", () => {
		for (const activity of ACTIVITIES) {
			for (const isDelivering of [false, true]) {
				const settings = { action: "restart", interruptTurn: true } as const;
				expect(decideHealthRestart(settings, { activity, isDelivering }).restart).toBe(true);
			}
		}
	});

	test("is described with its last error", () => {
		expect(renderUnhealthy(stateAfter("x").state)).toBe("its health check failed: error 0");
		expect(renderUnhealthy(stateAfter("xx").state)).toBe(
			"its health check failed 2 times in a row: error 1",
		);
		expect(renderUnhealthy(NO_HEALTH_CHECK)).toMatch(/unknown error/);
		expect(renderNoAnswer(10_000)).toBe("no answer within 10s");
		expect(HEALTH_ACTIONS).toContain("notify");
	});
});
