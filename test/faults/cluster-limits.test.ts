/** Usage limits of an account that agents of two hosts use: real daemons and a real PostgreSQL. */

import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { describeWithPostgres } from "../support/needs.js";
import { type NetworkProxy, startProxy } from "../support/network-proxy.js";
import { startPostgres, type TestPostgres } from "../support/postgres.js";
import { temporaryFolder } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

interface Host {
	readonly home: FleetHome;
	readonly network: NetworkProxy;
}

/** A program that exits as if its account were limited while the file `limit` exists. */
async function createHost(name: string, postgres: TestPostgres, shared: string): Promise<Host> {
	const home = createFleetHome();
	onTestFinished(() => home.close());
	const network = await startProxy(postgres.port);
	const program = `echo "$REEVE_AGENT" >> ${shared}/starts; test -e ${shared}/limit && exit 75; exec cat`;
	const agents = ["early", "late"].map((agent) => `${name}-${agent}`);
	const lines = agents.map((agent) => `      ${agent}: { adapter: limited, account: work }`);
	const fleet = [
		...["version: 1", "adapters:", "  limited:"],
		`    command: [sh, -c, ${JSON.stringify(program)}]`,
		...["    exits: { codes: [{ code: 75, cause: usage_limit }] }"],
		...["projects:", "  p:", "    agents:", ...lines, ""],
	];
	writeFileSync(join(home.folder, "reeve.yaml"), fleet.join("\n"));
	await home.must("daemon", "start");
	const database = postgres.url().replace(String(postgres.port), String(network.port));
	const settings = join(home.env["REEVE_HOME"] ?? "", "daemon.json");
	writeFileSync(settings, JSON.stringify({ cluster: { database, host: name } }));
	await home.must("daemon", "reload");
	await eventually(
		async () => (await home.reeve("host", "ls")).stdout.includes(`${name} (this host)`),
		`${name} has joined`,
	);
	return { home, network };
}

const agentOf = async ({ home }: Host, name: string): Promise<AgentJson | undefined> =>
	(await home.ps()).find(({ id }) => id === `p:${name}`);

function waits(host: Host, name: string, reason: string): Promise<void> {
	return eventually(
		async () => {
			const agent = await agentOf(host, name);
			return agent?.status.state === "limited" && agent.status.why.includes(reason);
		},
		`${name} waits: ${reason}`,
		120_000,
		250,
	);
}

function runs(host: Host, name: string): Promise<void> {
	return eventually(
		async () => {
			const agent = await agentOf(host, name);
			return agent?.process === "running" && agent.status.state !== "limited";
		},
		`${name} runs`,
		180_000,
		250,
	);
}

describeWithPostgres("an account that agents of several hosts use", () => {
	test("is parked on all hosts by a limit that one agent hits, and released by one that succeeds", {
		timeout: 480_000,
	}, async () => {
		const postgres = await startPostgres();
		onTestFinished(() => postgres.stop());
		const shared = temporaryFolder();
		const limit = join(shared, "limit");
		const starts = (agent: string) => {
			const path = join(shared, "starts");
			if (!existsSync(path)) return 0;
			return readFileSync(path, "utf8")
				.split("\n")
				.filter((line) => line === `p:${agent}`).length;
		};
		const one = await createHost("one", postgres, shared);
		const two = await createHost("two", postgres, shared);
		await two.home.must("up", "p:two-early");
		await runs(two, "two-early");

		appendFileSync(limit, "");
		await one.home.reeve("up", "p:one-early");
		await waits(one, "one-early", "usage limit");
		await waits(two, "two-early", "(hit on host one)");
		// Not even tried.
		await two.home.reeve("up", "p:two-late");
		await waits(two, "two-late", "(hit on host one)");
		expect(starts("two-late")).toBe(0);
		expect((await two.home.must("events", "--type", "account.limited")).length).toBeGreaterThan(0);

		// The limit has lifted. An agent of the other host checks it; until that is proven, no other is started.
		rmSync(limit);
		await two.home.must("resume", "p:two-late");
		await runs(two, "two-late");
		await waits(one, "one-early", "p:two-late on two is checking");
		expect(starts("one-early")).toBe(1);
		await runs(one, "one-early");
		await runs(two, "two-early");

		// The database is away: the limit is known on the host whose agent hits it, and parks the other host later.
		two.network.set("cut");
		await two.home.must("down", "p:two-late");
		appendFileSync(limit, "");
		await two.home.reeve("up", "p:two-late");
		await waits(two, "two-late", "usage limit");
		expect((await agentOf(one, "one-early"))?.status.state).not.toBe("limited");
		two.network.set("open");
		await waits(one, "one-early", "(hit on host two)");
		// While this host is cut off, it is released on the other one, which both know afterwards.
		two.network.set("cut");
		rmSync(limit);
		await one.home.must("resume", "p:one-early");
		await waits(two, "two-late", "usage limit");
		await runs(one, "one-early");
		await eventually(
			async () =>
				(await one.home.must("events", "--type", "account.released")).split("\n").length > 2,
			"the account is released on one",
			180_000,
			500,
		);
		two.network.set("open");
		await runs(two, "two-late");
	});
});
