/** The data of the web page and `reeve top`, from a real daemon with real agents. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { followScreen, type ScreenMessage } from "../support/screen-reader.js";

const FLEET = `painter: { command: [sh, -c, "stty size; printf '\\\\033]2;<b>title</b>\\\\007\\\\033[1;31mred\\\\033[0m \\\\033[38;5;200mpink\\\\033[48;2;1;2;3mrgb\\\\033[0m <script>x</script>\\\\n'; while read line; do echo \\"got $line\\"; stty size; done"], backend: pty }
busy: { command: [sh, -c, "sh -c 'while :; do :; done' & wait"] }
crasher: { command: [sh, -c, "echo the secret is hunter2-long-enough; exit 3"], env: { API_TOKEN: hunter2-long-enough }, crash_policy: { halt_threshold: 2, flapping_delay: 100ms, transient_delay: 100ms } }
tool: { kind: call, command: [cat], timeout: 5s }`;

let home: FleetHome;
let client: Client;
let socketPath: string;

beforeAll(async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.reeve("up");
	socketPath = join(home.folder, "home", "reeve.sock");
	client = createClient({ socketPath });
}, 120_000);

afterAll(() => home.close(), 120_000);

const styled = async (place: string) => {
	const options = { place, query: { format: "styled" as const } };
	return (await client.call("GET /api/v1/agents/:id/screen", options)).styled;
};

describe("a screen", { timeout: 120_000 }, () => {
	test("is returned with its styles, its title and its size", async () => {
		await eventually(
			async () => JSON.stringify((await styled("p:painter"))?.lines).includes("script"),
			"it has painted",
		);
		const screen = await styled("p:painter");
		expect(screen).toMatchObject({ title: "<b>title</b>", complete: true });
		const line = screen?.lines.find((runs) => runs.some(({ text }) => text === "red"));
		expect(line).toEqual([
			{ text: "red", fg: 1, bold: true },
			{ text: " " },
			{ text: "pink", fg: 200 },
			{ text: "rgb", fg: 200, bg: "#010203" },
			{ text: " <script>x</script>" },
		]);
	});

	test("is streamed as changed rows, and watching never resizes it", async () => {
		const reader = await followScreen(socketPath, "p:painter");
		const [first] = await reader.until((messages) => messages.length > 0);
		expect(first?.name).toBe("screen");
		const { columns, rows } = (first as ScreenMessage).data as { columns: number; rows: number };
		const body = { text: "hello", submit: true };
		await client.call("POST /api/v1/agents/:id/send", { place: "p:painter", body });
		const messages = await reader.until((all) => JSON.stringify(all).includes("got hello"));
		const changed = messages.filter(({ name }) => name === "rows");
		expect(changed.length).toBeGreaterThan(0);
		const lines = Object.assign({}, ...changed.map(({ data }) => data["lines"]));
		expect(Object.keys(lines).length, "only changed rows are sent").toBeLessThan(rows);
		await reader.until((all) => JSON.stringify(all).split(`${rows} ${columns}`).length > 1);
		reader.close();
	});

	test("ends its stream with the reason when the agent stops", async () => {
		const reader = await followScreen(socketPath, "p:painter");
		await reader.until((messages) => messages.length > 0);
		await client.call("POST /api/v1/agents/:scope/down", { place: "p:painter", body: {} });
		const messages = await reader.until((all) => all.at(-1)?.name === "closed");
		expect(messages.at(-1)?.data).toMatchObject({ reason: expect.stringMatching(/exited|killed/) });
		await reader.ended;
		const stopped = client.call("GET /api/v1/agents/:id/screen", { place: "p:painter" });
		await expect(stopped).rejects.toMatchObject({ code: "not_running" });
		await expect(followScreen(socketPath, "p:painter")).rejects.toThrow("409");
		await expect(followScreen(socketPath, "p:missing")).rejects.toThrow("404");
		await expect(followScreen(socketPath, "p:tool")).rejects.toThrow("409");
	});
});

test("resources are measured for the whole process tree, and only while a client asks", async () => {
	const [before] = (await client.call("GET /api/v1/agents", { query: { ids: "p:busy" } })).agents;
	expect(before?.resources).toBeNull();
	const end = new AbortController();
	const readings: (readonly [number, number | null])[] = [];
	const following = (async () => {
		const onResources = ({
			agents,
		}: {
			agents: Readonly<Record<string, readonly [number, number | null]>>;
		}) => {
			const reading = agents["p:busy"];
			if (reading !== undefined) readings.push(reading);
		};
		const options = { after: 0, follow: true, signal: end.signal, onResources };
		for await (const _ of client.events(options));
	})();
	await eventually(() => readings.some(([, cpu]) => (cpu ?? 0) > 1), "its child uses the CPU");
	expect(readings.at(-1)?.[0]).toBeGreaterThan(100_000);
	const [during] = (await client.call("GET /api/v1/agents", { query: { ids: "p:busy" } })).agents;
	expect(during?.resources).toMatchObject({
		processes: 2,
		memory: expect.stringMatching(/rss|cgroup/),
	});
	end.abort();
	await following;
	const after = async () =>
		(await client.call("GET /api/v1/agents", { query: { ids: "p:busy" } })).agents[0]?.resources;
	await eventually(async () => (await after()) === null, "nothing is measured");
}, 120_000);

test("runs, series and events show what happened and what Reeve did", async () => {
	const halted = async () =>
		(await client.call("GET /api/v1/agents/:id", { place: "p:crasher" })).policy === "halted";
	await eventually(halted, "it is halted");
	const { runs, next } = await client.call("GET /api/v1/agents/:id/runs", { place: "p:crasher" });
	expect(next).toBeNull();
	expect(runs[0]).toMatchObject({ exit: { code: 3 }, decision: { action: "halt" } });
	expect(runs.at(-1)).toMatchObject({ exit: { code: 3 }, decision: { action: "restart" } });
	const query = { limit: 1 };
	const page = await client.call("GET /api/v1/agents/:id/runs", { place: "p:crasher", query });
	const before = page.next ?? 0;
	const rest = await client.call("GET /api/v1/agents/:id/runs", {
		place: "p:crasher",
		query: { before },
	});
	expect([...page.runs, ...rest.runs]).toEqual(runs);
	const { agents, complete } = await client.call("GET /api/v1/history");
	expect(complete).toBe(true);
	const series = agents.find(({ id }) => id === "p:crasher");
	expect(series?.runs.map(([, , cause]) => cause)).toEqual(runs.map(({ exit }) => exit?.cause));
	expect(agents.find(({ id }) => id === "p:busy")?.runs.at(-1)?.[1]).toBeNull();
	const wanted = { agent: "p:crasher", type: "agent.exited,agent.decided", limit: 2 };
	const newest = await client.call("GET /api/v1/events/list", { query: wanted });
	expect(newest.events.map(({ type }) => type)).toEqual(["agent.decided", "agent.exited"]);
	const until = newest.events.at(-1)?.at ?? "";
	const older = await client.call("GET /api/v1/events/list", {
		query: { agent: "p:crasher", until, since: "2020-01-01T00:00:00Z" },
	});
	expect(older.events.every(({ at }) => at < until)).toBe(true);
	const unknown = client.call("GET /api/v1/agents/:id/runs", { place: "p:missing" });
	await expect(unknown).rejects.toMatchObject({ code: "agent_not_found" });
}, 120_000);

test("a log is searched without its secrets", async () => {
	const search = { place: "p:crasher", query: { text: "SECRET" } };
	const { matches } = await client.call("GET /api/v1/agents/:id/logs/search", search);
	expect(matches.length).toBeGreaterThan(0);
	expect(JSON.stringify(matches)).not.toContain("hunter2");
	expect(matches[0]?.text).toBe("the secret is [redacted API_TOKEN]");
}, 60_000);

describe("settings", { timeout: 120_000 }, () => {
	const config = () => client.call("GET /api/v1/agents/:id/config", { place: "p:crasher" });

	test("come with their lines, and without secrets", async () => {
		const { settings, problem, fleet_file: file } = await config();
		expect(problem).toBeNull();
		const byKey = new Map(settings.map((setting) => [setting.key, setting]));
		expect(byKey.get("crash_policy.halt_threshold")).toMatchObject({
			...{ value: "2", source: "agent", at: `${file}:7` },
		});
		expect(byKey.get("crash_policy.window")).toMatchObject({
			...{ value: "60s", source: "default", at: null },
		});
		expect(byKey.get("env.API_TOKEN")).toMatchObject({ value: "***", source: "agent" });
		expect(JSON.stringify(settings)).not.toContain("hunter2");
	});

	test("show that the file has changed since", async () => {
		writeFileSync(
			join(home.folder, "reeve.yaml"),
			`version: 1\nprojects:\n  p:\n    agents:\n      crasher: { command: [sleep, "9"] }\n`,
		);
		const { settings, problem } = await config();
		expect(problem).toMatch(/has changed since it was applied \(.*command.*\); `reeve reload`/);
		const command = settings.find(({ key }) => key === "command");
		expect(command).toMatchObject({ source: "applied", at: null });
		writeFileSync(join(home.folder, "reeve.yaml"), "version: [");
		expect((await config()).problem).toMatch(/not valid YAML|cannot be/);
		home.writeFleet(FLEET);
	});
});

test("the host is described with the findings of doctor, the worst first", async () => {
	const host = await client.call("GET /api/v1/host", { signal: AbortSignal.timeout(60_000) });
	expect(host.findings_problem).toBeNull();
	const names = host.findings?.map(({ name }) => name) ?? [];
	expect(names).toEqual(expect.arrayContaining(["node", "disk", "database", "daemon"]));
	const ranks = host.findings?.map(({ status }) => ["fail", "warn", "ok"].indexOf(status)) ?? [];
	expect(ranks).toEqual([...ranks].sort());
	expect(host.disk?.free_bytes).toBeGreaterThan(0);
	expect(host.database_bytes).toBeGreaterThan(0);
	const quick = await client.call("GET /api/v1/host", { query: { findings: "0" } });
	expect(quick.findings).toBeNull();
}, 120_000);
