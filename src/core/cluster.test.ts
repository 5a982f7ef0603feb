import { describe, expect, test } from "vitest";
import {
	type ClusterHost,
	heartbeatDelayMs,
	hostNameOf,
	hostState,
	refuseToJoin,
	rejoinDelayMs,
	SILENT_AFTER_MS,
} from "./cluster.js";

const ME = { host: "a", home: "home-a", boot: "boot-1", version: "1.4.2" };

function hostOf(facts: Partial<ClusterHost>): ClusterHost {
	return {
		...{ host: "b", home: "home-b", boot: "boot-b", version: "1.4.0", labels: {} },
		...{ advertise: null, adapters: [], cpus: 2, load: 0, agents: 0 },
		...{ memoryTotalBytes: 2, memoryFreeBytes: 1, draining: false, joinedAtMs: 0, ageMs: 0 },
		...facts,
	};
}

test("a host is only up while its heartbeat is recent", () => {
	expect(hostState({ ageMs: SILENT_AFTER_MS, draining: false })).toBe("up");
	expect(hostState({ ageMs: SILENT_AFTER_MS + 1, draining: false })).toBe("silent");
	expect(hostState({ ageMs: 0, draining: true })).toBe("draining");
	expect(hostState({ ageMs: SILENT_AFTER_MS + 1, draining: true })).toBe("silent");
});

test("two heartbeats may be missed before a host counts as silent", () => {
	expect(2 * heartbeatDelayMs(1)).toBeLessThan(SILENT_AFTER_MS);
	expect(heartbeatDelayMs(0)).toBeLessThan(heartbeatDelayMs(1));
});

test("attempts to join become rarer, up to a limit", () => {
	expect(rejoinDelayMs(1, 0)).toBe(300);
	expect(rejoinDelayMs(1, 1)).toBe(500);
	expect(rejoinDelayMs(3, 1)).toBe(2_000);
	expect(rejoinDelayMs(1_000, 1)).toBe(5_000);
});

describe("a daemon", () => {
	test.each(["1.3.0", "1.4.9", "1.5.0", "1.5.0-beta.1"])("joins hosts that run %s", (version) => {
		expect(refuseToJoin(ME, [hostOf({ version })], false)).toBeNull();
	});

	test.each([
		["1.2.9", "Upgrade b first"],
		["0.4.2", "Upgrade b first"],
		["1.6.0", "Upgrade this host first"],
		["2.4.2", "Upgrade this host first"],
		["unknown", "Upgrade b first"],
	])("does not join hosts that run %s", (version, hint) => {
		const reason = refuseToJoin(ME, [hostOf({ version })], false);
		expect(reason).toContain(`host b runs ${version}`);
		expect(reason).toContain(hint);
	});

	test("ignores the version of a silent host, and of its own predecessor", () => {
		const silent = hostOf({ version: "0.1.0", ageMs: SILENT_AFTER_MS + 1 });
		const before = hostOf({ host: "a", home: "home-a", boot: "boot-0", version: "0.1.0" });
		expect(refuseToJoin(ME, [silent, before], false)).toBeNull();
	});

	test("does not take the name of another host that is alive", () => {
		const other = hostOf({ host: "a" });
		expect(refuseToJoin(ME, [other], false)).toContain("set a different `cluster.host`");
		const silent = { ...other, ageMs: SILENT_AFTER_MS + 1 };
		expect(refuseToJoin(ME, [silent], false)).toBeNull();
	});

	test("that is replaced by a copy of its home does not replace it again", () => {
		const copy = hostOf({ host: "a", home: "home-a", boot: "boot-2" });
		expect(refuseToJoin(ME, [copy], false)).toBeNull();
		expect(refuseToJoin(ME, [copy], true)).toContain("a copy of this home");
		expect(refuseToJoin(ME, [{ ...copy, boot: "boot-1" }], true)).toBeNull();
	});
});

test("the name of a host comes from its host name", () => {
	expect(hostNameOf("Build-1.internal")).toBe("build-1");
	expect(hostNameOf("_my host")).toBe("my-host");
	expect(hostNameOf("...")).toBe("host");
	expect(hostNameOf("x".repeat(100))).toHaveLength(63);
});
