import { expect, test } from "vitest";
import { type PlacementHost, placeAgent } from "./placement.js";

const AGENT = { agent: "p:a", cli: "claude", labels: { zone: "a" } };

function host(name: string, changes: Partial<PlacementHost> = {}): PlacementHost {
	return {
		...{ host: name, home: `home-${name}`, labels: { zone: "a" }, adapters: ["claude"] },
		...{ cpus: 2, load: 0.5, draining: false, ageMs: 0, offers: ["p:a"], leases: 0 },
		...changes,
	};
}

test("an agent goes where the fewest leases are per CPU, then to the lowest load, then by name", () => {
	const hosts = [
		host("c", { leases: 3 }),
		host("b", { leases: 4, cpus: 8 }),
		host("a", { leases: 9 }),
	];
	expect(placeAgent(AGENT, hosts).placed).toEqual({
		...{ host: "b", home: "home-b" },
		reason: "the fewest leases per CPU, 4 on 8",
	});
	expect(placeAgent(AGENT, [host("b"), host("a", { load: 1 })]).placed?.host).toBe("b");
	expect(placeAgent(AGENT, [host("b"), host("a")]).placed?.host).toBe("a");
});

test.each([
	["silent", { ageMs: 60_000 }],
	["draining", { draining: true }],
	["the agent is not up there", { offers: ["p:b"] }],
	["label zone is not a", { labels: { zone: "b" } }],
	["claude is not installed", { adapters: ["codex"] }],
])("a host is not suitable: %s", (reason, changes) => {
	const alone = placeAgent(AGENT, [host("b", changes)]);
	expect(alone).toEqual({ placed: null, reason: `no host is suitable (b: ${reason})` });
	const { placed } = placeAgent(AGENT, [host("b", changes), host("a", { leases: 99 })]);
	expect(placed).toMatchObject({
		host: "a",
		reason: `the only suitable host, 99 on 2 (b: ${reason})`,
	});
});

test("the reason names a few of many hosts that are not suitable", () => {
	const hosts = Array.from({ length: 200 }, (_, at) => host(`h${at}`, { draining: true }));
	const { reason } = placeAgent(AGENT, hosts);
	expect(reason).toContain("h7: draining; and 192 other hosts)");
});
