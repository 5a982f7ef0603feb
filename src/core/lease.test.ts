import { describe, expect, test } from "vitest";
import {
	decideStep,
	endsAtMs,
	isFree,
	LEASE_MS_MIN,
	type Lease,
	leaseTimes,
	mayTake,
	mustAsk,
	ON_LOST_CHOICES,
	observe,
} from "./lease.js";

const LEASE: Lease = {
	...{ agent: "p:a", epoch: 4, renewals: 7, host: "a", home: "home-a", boot: "boot-a" },
	...{ onLost: "replace", leaseMs: 15_000, leftMs: 5_000, isHostKnown: true, wanted: true },
	reason: "",
	answer: null,
	isHostLeaving: false,
};
const ME = { home: "home-b", boot: "boot-b", heldEpoch: null };
const OWN = { home: "home-a", boot: "boot-a", heldEpoch: 4 };

describe("the parts of a lease", () => {
	test("leave time for three renewals before the agent is asked to exit", () => {
		for (const leaseMs of [LEASE_MS_MIN, 15_000, 600_000]) {
			for (const drainMs of [0, 1_000, 10_000, 3_600_000]) {
				const { renewMs, graceMs, marginMs } = leaseTimes(leaseMs, drainMs);
				expect(leaseMs - graceMs - marginMs).toBeGreaterThanOrEqual(3 * renewMs);
				expect(endsAtMs(1_000, leaseMs, drainMs) + graceMs + marginMs).toBe(1_000 + leaseMs);
				expect(marginMs).toBeGreaterThanOrEqual(1_000);
			}
		}
	});
});

describe("a lease is free for other hosts", () => {
	test.each([
		["without a holder", { host: null, home: null, boot: null }, [true, true, true]],
		["while it lasts", {}, [false, false, false]],
		["when it has expired", { leftMs: 0 }, [false, false, true]],
		["when its host was removed", { isHostKnown: false }, [true, false, false]],
		["when both", { leftMs: 0, isHostKnown: false }, [true, true, true]],
		["assigned, not yet taken", { boot: null }, [false, false, false]],
		["assigned, never taken", { boot: null, leftMs: 0 }, [true, true, true]],
		["when an operator decided so", { leftMs: 0, answer: "replace" }, [false, true, true]],
		["when an operator waits", { leftMs: 0, answer: "wait" }, [false, false, true]],
		["while it lasts, whatever was decided", { answer: "replace" }, [false, false, false]],
	] as const)("%s: keep, ask, replace", (_, changes, expected) => {
		const free = ON_LOST_CHOICES.map((onLost) => isFree({ ...LEASE, ...changes, onLost }));
		expect(free).toEqual(expected);
	});
});

describe("a host", () => {
	test.each([
		["holds what it has", LEASE, OWN, "hold"],
		["claims what its earlier daemon had", LEASE, { ...OWN, boot: "boot-2" }, "claim"],
		["claims what it has lost track of", LEASE, { ...OWN, heldEpoch: 2 }, "claim"],
		["claims what it was assigned", { ...LEASE, boot: null }, OWN, "claim"],
		[
			"claims its own even if it has expired",
			{ ...LEASE, leftMs: -1 },
			{ ...OWN, heldEpoch: null },
			"claim",
		],
		["leaves what another one has", LEASE, ME, "leave"],
		[
			"hands over what it has before it restarts",
			{ ...LEASE, isHostLeaving: true },
			OWN,
			"hand_over",
		],
		[
			"keeps what no other host may replace",
			{ ...LEASE, isHostLeaving: true, onLost: "ask" },
			OWN,
			"hold",
		],
		["places what is free", { ...LEASE, leftMs: -1 }, ME, "place"],
		["stops what is to run nowhere", { ...LEASE, wanted: false }, OWN, "stop"],
	] as const)("%s", (_, lease, me, step) => {
		expect(decideStep(lease, me)).toBe(step);
	});
});

describe("a lease that another host has held", () => {
	const expired = { ...LEASE, leftMs: -1 };
	test("is taken only when it was unchanged for its whole length, whatever the database's clock shows", () => {
		const first = observe(null, LEASE, 1_000);
		expect(mayTake(expired, first, 1_000 + 14_999)).toBe(false);
		expect(mayTake(expired, first, 1_000 + 15_000)).toBe(true);
		const renewed = observe(first, { ...LEASE, renewals: 8 }, 9_000);
		expect(mayTake(expired, renewed, 16_000)).toBe(false);
		expect(observe(renewed, { ...expired, renewals: 8 }, 20_000)).toBe(renewed);
		expect(observe(renewed, { ...expired, epoch: 5 }, 20_000).sinceMs).toBe(20_000);
	});

	test("is taken at once if nothing can run: no holder, or never taken, or a removed host with `keep`", () => {
		const now = observe(null, LEASE, 0);
		expect(mayTake({ ...LEASE, host: null }, now, 0)).toBe(true);
		expect(mayTake({ ...expired, boot: null }, now, 0)).toBe(true);
		expect(mayTake({ ...LEASE, onLost: "keep", isHostKnown: false }, now, 0)).toBe(true);
		expect(mayTake(LEASE, now, 1_000_000)).toBe(false);
	});
});

describe("an operator decides about an agent", () => {
	const lost: Lease = { ...LEASE, onLost: "ask", leftMs: -1 };
	const seen = { epoch: 4, renewals: 7, sinceMs: 1_000 };
	const LATE_MS = 1_000 + 15_000;
	test.each<[string, Partial<Lease>, number, boolean]>([
		["whose host is lost", {}, LATE_MS, true],
		["but not before the lease is over on the clock of this host too", {}, LATE_MS - 1, false],
		["whose lease lasts", { leftMs: 1 }, LATE_MS, false],
		["that other hosts replace anyway", { onLost: "replace" }, LATE_MS, false],
		["that stays with its host", { onLost: "keep" }, LATE_MS, false],
		["once", { answer: "wait" }, LATE_MS, false],
		["not after its host was removed", { isHostKnown: false }, LATE_MS, false],
		["not if it is to run nowhere", { wanted: false }, LATE_MS, false],
		["not if its host never had it", { boot: null }, LATE_MS, false],
	])("%s", (_, changes, nowMs, expected) => {
		expect(mustAsk({ ...lost, ...changes }, seen, nowMs)).toBe(expected);
	});
});
