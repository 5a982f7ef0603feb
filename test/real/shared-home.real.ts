/** Many real claude sessions on a loaded host: on one HOME, and with all dialogs of a first start. */

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import type { ReeveEvent } from "../../src/core/events.js";
import { createMockApi, type MockApi } from "../../src/testing/mock-api/mock-api.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { readAllTheTime } from "../support/file-reader.js";
import { runBusyLoops } from "./busy-loops.js";
import { CLIS, json, KEY, type RealCli } from "./clis.js";
import { install } from "./install.js";

const CLAUDE = CLIS[0] as RealCli;
const SHARED = Number(process.env["REEVE_SHARED_HOME_AGENTS"] ?? 30);
const STARTS = Number(process.env["REEVE_DIALOG_STARTS"] ?? 20);
const STARTS_AT_ONCE = 5;
const WITHIN_MS = 300_000;

let api: MockApi;
let program: string;
runBusyLoops();
beforeAll(async () => {
	api = await createMockApi();
	program = await install(CLAUDE);
});
afterAll(() => api.close());

function agentIn(home: string, cwd: string): object {
	mkdirSync(cwd, { recursive: true });
	const env = { ...CLAUDE.env({ api: api.url, home, cwd }), HOME: home };
	return { adapter: "claude", command: [program], args: CLAUDE.terminal, env, cwd };
}

function openFleet(agents: Readonly<Record<string, object>>): FleetHome {
	const fleet = createFleetHome();
	const text = JSON.stringify({ version: 1, projects: { p: { agents } } });
	writeFileSync(join(fleet.folder, "reeve.yaml"), text);
	return fleet;
}

async function eventsOf(fleet: FleetHome): Promise<readonly ReeveEvent[]> {
	const client = createClient({ socketPath: join(fleet.env["REEVE_HOME"] ?? "", "reeve.sock") });
	const found: ReeveEvent[] = [];
	for await (const event of client.events({ after: 0, follow: false })) found.push(event);
	return found;
}

const allReady = (fleet: FleetHome, count: number) => async () => {
	const agents = await fleet.ps();
	return agents.filter(({ activity }) => activity === "ready").length >= count;
};

test(`${SHARED} sessions on one HOME keep every setting of it`, { timeout: 900_000 }, async () => {
	const home = realpathSync(mkdtempSync(join(tmpdir(), "reeve-shared-")));
	const file = join(home, ".claude.json");
	const login = { emailAddress: "me@example.com", accountUuid: "0" };
	const mine = { type: "stdio", command: "true", args: [] };
	const custom = { customApiKeyResponses: { approved: [KEY.slice(-20)] } };
	const settings = { oauthAccount: login, mcpServers: { mine }, theme: "dark", ...custom };
	writeFileSync(file, json({ ...settings, bypassPermissionsModeAccepted: true }));
	const cwds = Array.from({ length: SHARED }, (_, n) => join(home, `work${n}`));
	const fleet = openFleet(Object.fromEntries(cwds.map((cwd, n) => [`c${n}`, agentIn(home, cwd)])));
	const stop = readAllTheTime(
		file,
		`if (settings.oauthAccount.emailAddress !== "me@example.com") throw new Error("login lost");
		 if (settings.mcpServers.mine.command !== "true") throw new Error("MCP settings lost");`,
	);
	try {
		await fleet.must("up");
		await eventually(allReady(fleet, SHARED), "all sessions are ready", WITHIN_MS, 1_000);
		const { bad, versions } = await stop();
		expect(bad).toEqual([]);
		expect(versions).toBeGreaterThan(SHARED);
		// Not `numStartups`: claudes that start together lose some of these among themselves.
		// A claude that does not get its own lock in time writes the file without it, from what it has read before, and may
		// lose an entry that Reeve has just inserted. Reeve repeats it before the next start.
		const lost = () => {
			const { projects } = JSON.parse(readFileSync(file, "utf8"));
			return cwds.flatMap((cwd, n) =>
				projects[cwd]?.hasTrustDialogAccepted === true ? [] : [`p:c${n}`],
			);
		};
		const before = lost();
		console.log(`folders whose trust a claude has lost: ${before.join(", ") || "none"}`);
		expect(before.length).toBeLessThanOrEqual(SHARED / 10);
		if (before.length > 0) await fleet.must("down", ...before);
		if (before.length > 0) await fleet.must("up", ...before);
		await eventually(allReady(fleet, SHARED), "all sessions are ready again", WITHIN_MS, 1_000);
		expect(lost()).toEqual([]);
		const events = await eventsOf(fleet);
		expect(events.filter(({ type }) => type === "agent.exited").length).toBe(before.length);
		// A claude whose entry is lost before it reads it asks; Reeve answers.
		const answered = events.flatMap((event) =>
			event.type === "agent.dialog_answered" ? [`${event.agent} ${event.data.dialog}`] : [],
		);
		console.log(`dialogs answered: ${answered.join(", ") || "none"}`);
		expect(answered.length).toBeLessThanOrEqual(SHARED / 10);
	} finally {
		await fleet.close();
		rmSync(home, { recursive: true, force: true, maxRetries: 20 });
	}
});

test(`${STARTS} starts answer each dialog with the wanted choice`, {
	timeout: 1_800_000,
}, async () => {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "reeve-dialogs-")));
	const homes = Array.from({ length: STARTS }, (_, n) => join(root, `home${n}`));
	const agents = homes.map((home, n) => {
		const cwd = join(home, "work");
		const agent = agentIn(home, cwd);
		// Reeve replaces only `false`, so this one asks whether to trust the folder.
		const projects = { [cwd]: { hasTrustDialogAccepted: null } };
		const customApiKeyResponses = { approved: [KEY.slice(-20)] };
		const settings = {
			hasCompletedOnboarding: true,
			theme: "dark",
			customApiKeyResponses,
			projects,
		};
		writeFileSync(join(home, ".claude.json"), json(settings));
		return [`d${n}`, agent] as const;
	});
	const fleet = openFleet(Object.fromEntries(agents));
	try {
		for (let from = 0; from < STARTS; from += STARTS_AT_ONCE) {
			const names = agents.slice(from, from + STARTS_AT_ONCE).map(([name]) => `p:${name}`);
			await fleet.must("up", ...names);
			await eventually(allReady(fleet, names.length), `${names} are ready`, WITHIN_MS, 1_000);
			const exits = (await eventsOf(fleet)).filter(
				({ type, agent }) => type === "agent.exited" && names.includes(agent ?? ""),
			);
			expect(exits).toEqual([]);
			await fleet.must("down", ...names);
		}
		const events = await eventsOf(fleet);
		const answered = events.flatMap((event) =>
			event.type === "agent.dialog_answered" ? [`${event.agent} ${event.data.dialog}`] : [],
		);
		const asked = agents.flatMap(([name]) => [`p:${name} bypass_permissions`, `p:${name} trust`]);
		expect(answered.toSorted()).toEqual(asked.toSorted());
	} finally {
		await fleet.close();
		rmSync(root, { recursive: true, force: true, maxRetries: 20 });
	}
});
