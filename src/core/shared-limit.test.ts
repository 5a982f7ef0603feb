import { describe, expect, test } from "vitest";
import {
	type AccountState,
	DEFAULT_USAGE_LIMIT,
	decideAdvance,
	decideGoodTurn,
	isHeld,
	renderHold,
	withoutProbe,
} from "./account.js";
import {
	type AgreedLimit,
	adoptLimit,
	decideLimitStep,
	type LimitRow,
	type SharedLimit,
	shareLimit,
} from "./shared-limit.js";

const MINUTE_MS = 60_000;
const COMMON = { firstAtMs: 1_000, hits: 1, settings: DEFAULT_USAGE_LIMIT };
const LIMITED: AccountState = {
	...{ ...COMMON, phase: "limited", sinceMs: 10 * MINUTE_MS, endKnown: true },
	...{ untilMs: 60 * MINUTE_MS, reason: "usage limit, parked until it lifts" },
};
const PROBING: AccountState = {
	...{ ...COMMON, phase: "probing", sinceMs: 60 * MINUTE_MS, probe: null, readyAtMs: null },
};
const FREE = shareLimit(null, 70 * MINUTE_MS);
const limited = shareLimit(LIMITED, 0);
const probing = shareLimit(PROBING, 0);

function rowOf(limit: SharedLimit, more: Partial<LimitRow> = {}): LimitRow {
	const from = { account: "work", version: 3, host: "b", home: "home-b", isHostAlive: true };
	return { ...limit, ...from, ...more };
}
const agreedOn = (limit: SharedLimit, version = 3): AgreedLimit => ({ version, limit });
const ME = { home: "home-a", members: ["p:a", "p:c"], nowMs: 71 * MINUTE_MS };

describe("the next step with a limit", () => {
	const later = { ...limited, untilMs: 90 * MINUTE_MS };
	const guessed = { ...limited, endKnown: false, untilMs: 95 * MINUTE_MS };
	const operator = { ...limited, untilMs: null };
	const probe = { ...probing, probe: "p:b" };
	test.each<[string, SharedLimit, AgreedLimit | null, LimitRow | null, string]>([
		["never limited anywhere", FREE, null, null, "keep"],
		["hit here first", limited, null, null, "push"],
		["hit there first", shareLimit(null, 0), null, rowOf(limited), "adopt"],
		["known to both since an earlier daemon", limited, null, rowOf(limited), "keep"],
		["unchanged", limited, agreedOn(limited), rowOf(limited), "keep"],
		["hit here", limited, agreedOn(FREE), rowOf(FREE), "push"],
		["released there", limited, agreedOn(limited, 2), rowOf(FREE), "adopt"],
		["released here", FREE, agreedOn(limited), rowOf(limited), "push"],
		["its time has passed here", probing, agreedOn(limited), rowOf(limited), "keep"],
		["its time has passed, checked there", probing, agreedOn(limited, 2), rowOf(probe), "adopt"],
		["the host of the probe is gone", probe, agreedOn(probe), rowOf(probe), "keep"],
		[
			...(["the host of the probe is silent", probe, agreedOn(probe)] as const),
			...([rowOf(probe, { isHostAlive: false }), "adopt"] as const),
		],
		["hit there since", FREE, agreedOn(FREE, 2), rowOf(limited), "adopt"],
		["both hit it, here for longer", later, agreedOn(FREE, 2), rowOf(limited), "push"],
		["both hit it, there for longer", limited, agreedOn(FREE, 2), rowOf(later), "adopt"],
		["both hit it, here without its end", guessed, agreedOn(FREE, 2), rowOf(limited), "adopt"],
		["both hit it, there for the operator", later, agreedOn(FREE, 2), rowOf(operator), "adopt"],
		["both hit it, here for the operator", operator, agreedOn(FREE, 2), rowOf(later), "push"],
	])("%s", (_, local, agreed, row, expected) => {
		expect(decideLimitStep(local, agreed, row)).toBe(expected);
	});

	test("what changed later wins when both have changed while the database was away", () => {
		const agreed = agreedOn(probing, 2);
		expect(decideLimitStep(FREE, agreed, rowOf(limited))).toBe("push");
		expect(decideLimitStep(limited, agreed, rowOf(FREE))).toBe("adopt");
	});
});

describe("an adopted limit", () => {
	test("holds the agents of this host, and names the host whose agent hit it", () => {
		const state = adoptLimit(null, rowOf(limited), ME);
		expect(state).toMatchObject({ phase: "limited", host: "b", untilMs: LIMITED.untilMs });
		expect(isHeld(state, "p:a", ME.nowMs)).toBe(true);
		const reason = state === null ? "" : renderHold(state, "p:a").reason;
		expect(reason).toBe("usage limit, parked until it lifts (hit on host b)");
		expect(adoptLimit(null, rowOf(limited, { home: "home-a" }), ME)).not.toHaveProperty("host");
	});

	test("is checked by one agent of the cluster, also if an agent here has the same name", () => {
		const state = adoptLimit(LIMITED, rowOf({ ...probing, probe: "p:a" }), ME);
		expect(isHeld(state, "p:a", ME.nowMs)).toBe(true);
		expect(state === null ? "" : renderHold(state, "p:a").reason).toBe(
			"usage limit: p:a on b is checking whether it has lifted",
		);
		const row = rowOf({ ...probing, probe: "p:a" }, { isHostAlive: false });
		expect(isHeld(adoptLimit(LIMITED, row, ME), "p:a", ME.nowMs)).toBe(false);
	});

	test("waits for the probe of the other host, until that is given up", () => {
		const state = adoptLimit(LIMITED, rowOf({ ...probing, probe: "p:b" }), ME);
		if (state?.phase !== "probing") throw new Error("it is not checked");
		const facts = { nowMs: ME.nowMs, members: ME.members, minuteOfDay: () => 0 };
		const lookAt = () => "gone" as const;
		expect(decideAdvance(state, { ...facts, lookAt })).toBe(state);
		const own = withoutProbe(state);
		expect(own).toMatchObject({ phase: "probing", probe: null });
		expect(own).not.toHaveProperty("host");
		expect(isHeld(own, "p:a", ME.nowMs)).toBe(false);
		expect(decideAdvance(own, { ...facts, lookAt })).toBe(own);
	});

	test("is released by an agent here that succeeds, whatever it is called", () => {
		const state = adoptLimit(LIMITED, rowOf({ ...probing, probe: "p:a" }), ME);
		const turn = { atMs: ME.nowMs, beganAtMs: null, afterLimit: false, limit: null };
		// It may have begun before the limit was hit.
		expect(decideGoodTurn(state, "p:a", turn, ME)).toBe(state);
		const later = { ...turn, beganAtMs: ME.nowMs - 1 };
		expect(decideGoodTurn(state, "p:a", later, ME)?.phase).toBe("releasing");
	});

	test("that was released lets the agents continue one after another", () => {
		const state = adoptLimit(LIMITED, rowOf(FREE), ME);
		expect(state?.phase).toBe("releasing");
		expect(["p:a", "p:c"].map((agent) => isHeld(state, agent, ME.nowMs))).toEqual([true, true]);
		expect(isHeld(state, "p:c", ME.nowMs + MINUTE_MS)).toBe(false);
		expect(adoptLimit(null, rowOf(FREE), ME)).toBeNull();
	});
});
