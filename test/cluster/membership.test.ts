/** The membership of a host, over a database in memory. */

import { expect, test } from "vitest";
import { ReeveError } from "../../src/core/errors.js";
import { eventually } from "../faults/fleet-home.js";
import { createMemoryCluster, HOST_REPORT } from "../support/memory-cluster.js";

const becomes = (cluster: { view(): { state: string } }, state: string) =>
	eventually(() => cluster.view().state === state, `the host is ${state}`, 60_000, 5);

test("without its database a member fails requests at once, with the reason, and joins again", async () => {
	const { cluster, database, views } = await createMemoryCluster("a");
	database.fail(new ReeveError("cluster_unavailable", "the database: gone", "Start it."));
	await becomes(cluster, "unavailable");
	await expect(cluster.hosts()).rejects.toMatchObject({
		code: "cluster_unavailable",
		message: "the cluster is not available, last connected 0s ago: the database: gone",
		hint: "Start it.",
	});
	database.fail(null);
	await becomes(cluster, "member");
	expect(await cluster.hosts()).toHaveLength(1);
	const states = views.map(({ state }) => state);
	expect(states).toEqual(["joining", "member", "unavailable", "member"]);
});

test("a member that was removed joins again", async () => {
	const { database, views } = await createMemoryCluster("a");
	database.age("a", 60_000);
	expect(await database.remove("a")).toBe("removed");
	await eventually(() => views.length > 3, "the host has joined again", 60_000, 5);
	expect(views.map(({ state }) => state)).toEqual(["joining", "member", "joining", "member"]);
	expect(await database.hosts()).toMatchObject([{ host: "a", boot: "boot-a" }]);
});

test("a member that a copy of its home has replaced does not replace it again", async () => {
	const { cluster, database } = await createMemoryCluster("a");
	const copy = { host: "a", home: "home-a", boot: "boot-copy" };
	await database.join(copy, HOST_REPORT, () => null);
	await becomes(cluster, "refused");
	expect(cluster.view().reason).toContain("a copy of this home");
	await expect(cluster.hosts()).rejects.toMatchObject({ code: "cluster_unavailable" });
	expect(await database.hosts()).toMatchObject([{ boot: "boot-copy" }]);
	// When the copy is gone, its place is free.
	database.age("a", 60_000);
	await becomes(cluster, "member");
});
