/** The systemd backend over a real systemd: all that every backend promises, and what only this one does. */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createScopeGroups } from "../../src/backends/systemd/scope-groups.js";
import type { RunHandle } from "../../src/ports/backend.js";
import { eventually, listen, runOf, startOk } from "../../src/testing/conformance/backend-world.js";
import { runBackendSuite } from "../conformance/backend-suite.js";
import { groupLimitsSuite } from "../conformance/limits-suite.js";
import { runKillSuite, runProcessSuite } from "../conformance/process-suite.js";
import type { PtyWorld } from "../conformance/pty-world.js";
import { createSystemdWorld, realManager } from "../conformance/systemd-world.js";
import { CLOSE_MS_MAX } from "../conformance/world.js";

const manager = realManager();
const create = () => createSystemdWorld(manager);
const NONE = { memoryBytes: null, cpuPercent: null, pids: null };
const GREEDY = "$x .= 'a' x 10_000_000 for 1 .. 100";
const BUSY = ["perl", "-e", "1 while 1"] as const;

const unitOf = ({ runId }: RunHandle) => `reeve-run-${runId}.scope`;
const groupOf = ({ data }: RunHandle) => String(data["groups"]);
/** The folder of the unit, two above the group of the agent. */
const scopeOf = (handle: RunHandle) => dirname(dirname(groupOf(handle)));

function show(unit: string, ...properties: string[]): string {
	const args = ["--user", "show", unit, "-p", properties.join(",")];
	const text = execFileSync("systemctl", args, { encoding: "utf8" }).trim();
	return text.split("\n").sort().join(" ");
}

const cgroupOf = (pid: number) => readFileSync(`/proc/${pid}/cgroup`, "utf8").trim();

runBackendSuite("systemd", create);
runProcessSuite("systemd", create);
runKillSuite("systemd", create);
groupLimitsSuite(create, createScopeGroups(manager).describe());

describe("a run in a scope of a real systemd", () => {
	let world: PtyWorld;
	beforeEach(async () => {
		world = await create();
	});
	afterEach(() => world.close(), CLOSE_MS_MAX);

	test("has the requested limits and a description", async () => {
		const limits = { memoryBytes: 300_000_000, cpuPercent: 150, pids: 40 };
		const request = world.run(["sleep", "10000"], { limits, stopTimeoutMs: 7_500 });
		const handle = await startOk(world.connect(), request);
		expect(handle.backend).toBe("systemd");
		expect(handle.data["missingLimits"]).toBeUndefined();
		const names = ["MemoryMax", "CPUQuotaPerSecUSec", "TasksMax", "TimeoutStopUSec"];
		expect(show(unitOf(handle), ...names)).toBe(
			"CPUQuotaPerSecUSec=1.500000s MemoryMax=300000000 TasksMax=41 TimeoutStopUSec=7.500000s",
		);
		const description = `Description=Reeve: agent ${request.agentId}`;
		expect(show(unitOf(handle), "Description")).toBe(description);
		expect(readFileSync(`${scopeOf(handle)}/memory.max`, "utf8").trim()).toBe("299999232");
	});

	test("is in no unit but its own, and neither is the server that has its terminal", async () => {
		const handle = await startOk(world.connect(), world.request({ type: "lives-on" }));
		const agent = cgroupOf(handle.process.pid);
		const server = cgroupOf(world.holder().pid);
		expect(agent).toContain(`/app-reeve.slice/${unitOf(handle)}/reeve/agent`);
		expect(server).toMatch(/\/app-reeve\.slice\/reeve-terminals-[\w-]+\.scope$/);
		expect(cgroupOf(process.pid)).not.toContain("app-reeve");
	});

	test("is held to its share of the processor", async () => {
		const request = world.run([...BUSY], { limits: { ...NONE, cpuPercent: 10 } });
		const handle = await startOk(world.connect(), request);
		const throttled = () =>
			/nr_throttled ([1-9]\d+)/.test(readFileSync(`${scopeOf(handle)}/cpu.stat`, "utf8"));
		await eventually(throttled);
	});

	test("leaves no unit behind, killed or ended", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const killed = await startOk(backend, world.request({ type: "ignores-sigterm" }));
		const ended = await startOk(backend, world.request({ type: "exits", code: 3 }));
		expect(await backend.kill(runOf(killed))).toMatchObject({ ok: true });
		for (const handle of [killed, ended]) {
			await eventually(() => exits.first(handle.runId));
			await eventually(() => show(unitOf(handle), "LoadState") === "LoadState=not-found");
			expect(existsSync(scopeOf(handle))).toBe(false);
		}
		expect(exits.first(killed.runId)).toMatchObject({ signal: "SIGKILL", outOfMemory: false });
		expect(exits.first(ended.runId)).toMatchObject({ code: 3 });
	});

	test("that ran out of memory unobserved is reported with that cause", async () => {
		const first = world.connect();
		const limits = { ...NONE, memoryBytes: 60_000_000 };
		const wait = `sleep 1 until -e '${world.folder}/go'; ${GREEDY}`;
		const handle = await startOk(first, world.run(["perl", "-e", wait], { limits }));
		await first.close();
		execFileSync("touch", [`${world.folder}/go`]);
		await eventually(() => show(unitOf(handle), "LoadState") === "LoadState=not-found");
		expect(await world.connect().recover(handle.runId, handle)).toMatchObject({
			state: "exited",
			exit: { code: null, signal: "SIGKILL", outOfMemory: true },
		});
	});

	test("continues when a child of it was killed by out of memory", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const limits = { ...NONE, memoryBytes: 60_000_000 };
		const parent = `perl -e '${GREEDY.replaceAll("'", '"')}'; echo child: $?; exec sleep 10000`;
		const request = world.run(["sh", "-c", parent], { limits });
		const handle = await startOk(backend, request);
		await eventually(() => world.log(request.runId).toString().includes("child: 137"));
		expect(show(unitOf(handle), "ActiveState")).toBe("ActiveState=active");
		expect(await backend.isRunning(handle)).toBe(true);
		expect(exits.all).toEqual([]);
	});

	test("may exit in its own way when systemd stops the unit", async () => {
		const backend = world.connect();
		const exits = listen(backend);
		const tidy = "trap 'echo tidied; exit 7' TERM; echo ready; while :; do sleep 0.1; done";
		const request = world.run(["sh", "-c", tidy], { stopTimeoutMs: 300_000 });
		const handle = await startOk(backend, request);
		await eventually(() => world.log(request.runId).toString().includes("ready"));
		execFileSync("systemctl", ["--user", "stop", unitOf(handle)]);
		expect(await eventually(() => exits.first(handle.runId))).toMatchObject({ code: 7 });
		expect(world.log(request.runId).toString()).toContain("tidied");
	});
});
