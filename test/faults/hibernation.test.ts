/** Hibernation of a real process under a real daemon: the fake agent speaks claude's arguments and hooks. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

/** The built one: the agent is a program of its own. */
const { fakeAgentCommand } = (await import(
	new URL("../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../src/testing/index.js");

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

const LONG = { timeout: 300_000 };
const find = async () => (await home.ps())[0] as AgentJson;
const ledger = () =>
	readFileSync(join(home.folder, "fake.jsonl"), "utf8")
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as Record<string, unknown>);
const prompts = () =>
	ledger().flatMap((line) =>
		line["hook_event_name"] === "UserPromptSubmit" ? [line["prompt"]] : [],
	);
const isAsleep = async () => (await find()).status.state === "hibernated";

test(
	"an idle agent has no process until a message arrives, and a running tool keeps it awake",
	LONG,
	async () => {
		const script = {
			ledger: join(home.folder, "fake.jsonl"),
			turns: [{ when: "tool", tool: { takes: "20s" } }],
		};
		const command = JSON.stringify(fakeAgentCommand(script));
		home.writeFleet(
			`a: { adapter: claude, backend: pty, command: ${command}, hibernate: { after: 3s } }`,
		);
		await home.must("up", "--wait");
		await home.must("send", "p:a", "first");
		await eventually(isAsleep, "it hibernates");
		const asleep = await find();
		expect(asleep).toMatchObject({
			...{ process: "stopped", desired: "up", pid: null, policy: "healthy", restarts: 0 },
			hibernation: { state: "hibernated", after_ms: 3_000, freed_bytes: expect.any(Number) },
		});
		expect(asleep.hibernation?.freed_bytes).toBeGreaterThan(1_000_000);
		expect(await home.must("ps")).toMatch(/p:a +hibernated/);
		expect(await home.must("explain", "p:a")).toMatch(
			/hibernate hibernated since .*, freed \d+ MB/,
		);
		// A new daemon does not start it.
		await home.killDaemon();
		await home.must("daemon", "start");
		expect(await isAsleep()).toBe(true);
		await home.must("send", "p:a", "second");
		await eventually(() => prompts().length === 2, "the message is delivered");
		expect((await find()).conversation).toBe(asleep.conversation);
		await eventually(isAsleep, "it hibernates again");
		await home.must("send", "p:a", "use the tool");
		await eventually(() => prompts().length === 3, "it has the third message");
		await new Promise((resolve) => setTimeout(resolve, 6_000));
		expect(await find()).toMatchObject({ process: "running", hibernation: { state: "awake" } });
		expect(prompts()).toEqual(["first", "second", "use the tool"]);
		const events = await home.must("events", "--json");
		expect(events.match(/"type":"agent.woken"/g)?.length).toBe(2);
	},
);

/** The memory of all processes of the home except the daemon, as the kernel divides it among those that share it. */
function memoryBytes(daemonPid: number): number {
	const read = (pid: string, file: string) => {
		try {
			return readFileSync(`/proc/${pid}/${file}`, "latin1");
		} catch {
			return "";
		}
	};
	const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== `${daemonPid}`);
	const ours = pids.filter((pid) =>
		["cmdline", "environ"].some((file) => read(pid, file).includes(home.folder)),
	);
	const sizes = ours.map((pid) => /^Pss: +(\d+) kB/m.exec(read(pid, "smaps_rollup"))?.[1]);
	return sizes.reduce((sum, size) => sum + Number(size ?? 0) * 1_024, 0);
}

test.runIf(process.platform === "linux")(
	"ten sessions that hibernate free the memory that Reeve reports",
	LONG,
	async () => {
		const names = Array.from({ length: 10 }, (_, n) => `a${n}`);
		const agents = names.map((name) => {
			const asks = { title: "Run it?", choices: ["Yes", "No"], accepts: ["Yes"] };
			const script = { ledger: join(home.folder, `${name}.jsonl`), turns: [{ when: "ask", asks }] };
			const command = JSON.stringify(fakeAgentCommand(script));
			return `${name}: { adapter: claude, backend: pty, command: ${command}, hibernate: { after: 1s } }`;
		});
		home.writeFleet(agents.join("\n"));
		await home.must("up", "--wait");
		for (const name of names) await home.must("send", `p:${name}`, "ask");
		// A question keeps each of them awake until all of them are running.
		const states = async () => (await home.ps()).map(({ status }) => status.state);
		const all = (state: string) => async () => (await states()).every((each) => each === state);
		const isAsked = async () => (await home.ps()).every(({ question }) => question !== null);
		await eventually(isAsked, "all of them ask");
		const daemonPid = await home.daemonPid();
		const before = memoryBytes(daemonPid);
		for (const name of names) await home.must("answer", `p:${name}`, "1");
		await eventually(all("hibernated"), "all of them hibernate", 120_000);
		const after = memoryBytes(daemonPid);
		const freed = (await home.ps()).reduce(
			(sum, { hibernation }) => sum + (hibernation?.freed_bytes ?? 0),
			0,
		);
		const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
		console.log(
			`ten sessions: ${mb(before)} before, ${mb(after)} after; reported as freed: ${mb(freed)}`,
		);
		expect(after).toBeLessThan(before / 5);
		// Memory that they share is counted for the last of them.
		expect(freed / (before - after)).toBeGreaterThan(0.5);
		expect(freed / (before - after)).toBeLessThan(2);
	},
);

test("validate refuses a hibernation without an adapter that resumes", LONG, async () => {
	home.writeFleet(`plain: { command: [x], hibernate: { after: 1h } }
never: { adapter: claude, hibernate: { after: 0s } }
fine: { adapter: claude, hibernate: { after: 45m } }`);
	const { code, stdout, stderr } = await home.reeve("validate");
	expect(code).not.toBe(0);
	const text = stdout + stderr;
	expect(text).toMatch(/:5:\d+.*\n?.*cannot hibernate: its adapter `generic` cannot resume/);
	expect(text).toMatch(/:6:\d+/);
	expect(text).not.toMatch(/:7:/);
});
