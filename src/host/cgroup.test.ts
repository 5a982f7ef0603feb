import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createGroups, describeLimits } from "./cgroup.js";
import { parseGroupLayout } from "./cgroup-layout.js";
import { isOwnGroup, killGroup, readOomKills } from "./cgroup-members.js";

const mount = (root: string, at: string, type: string, options: string) =>
	`30 20 0:28 ${root} ${at} rw,relatime shared:1 - ${type} ${type} ${options}`;

describe("where this process is among the control groups", () => {
	test("in version 2", () => {
		const layout = parseGroupLayout(
			"0::/user.slice/session-1.scope\n",
			mount("/", "/sys/fs/cgroup", "cgroup2", "rw,nsdelegate"),
		);
		expect(layout).toEqual({
			unified: "/sys/fs/cgroup/user.slice/session-1.scope",
			byController: {},
		});
	});

	test("in version 1, also where two controllers share a hierarchy", () => {
		const layout = parseGroupLayout(
			"4:memory:/a/b\n3:cpu,cpuacct:/\n1:name=systemd:/x\n",
			[
				mount("/", "/cg/memory", "cgroup", "rw,memory"),
				mount("/", "/cg/cpu", "cgroup", "rw,cpu,cpuacct"),
			].join("\n"),
		);
		expect(layout).toEqual({
			unified: null,
			byController: { memory: "/cg/memory/a/b", cpu: "/cg/cpu", cpuacct: "/cg/cpu" },
		});
	});

	test("in a container that sees a part of the hierarchy", () => {
		const mounts = mount("/docker/abc", "/sys/fs/cgroup", "cgroup2", "rw");
		expect(parseGroupLayout("0::/docker/abc/x\n", mounts).unified).toBe("/sys/fs/cgroup/x");
		expect(parseGroupLayout("0::/elsewhere\n", mounts).unified).toBeNull();
	});
});

test("only Reeve's own groups are trusted (S10)", () => {
	expect(isOwnGroup("/sys/fs/cgroup/reeve/0a1b-run.1")).toBe(true);
	for (const path of ["/sys/fs/cgroup", "/sys/fs/cgroup/reeve", "/sys/reeve/../a", "reeve/x", ""]) {
		expect(isOwnGroup(path)).toBe(false);
	}
});

describe("without the right to make groups", () => {
	const none = { memoryBytes: 1, cpuPercent: null, pids: null };
	const groups = createGroups("test", "a test");

	test("everything works, and missing parts are reported", () => {
		const run = groups.create("run", none);
		expect(run.paths).toEqual([]);
		expect(run.inside(() => 5)).toBe(5);
		expect(run.applyLimits(none)).toEqual([expect.stringMatching(/limit on memory: a test; /)]);
		expect(run.countOomKills()).toBe(0);
		expect(groups.describe()).toContainEqual({
			name: "cpu",
			available: false,
			reason: "a test",
			instead: expect.stringContaining("no other way to limit"),
			perProcess: false,
		});
	});
});

describe("in version 2", () => {
	const folder = mkdtempSync(join(tmpdir(), "reeve-cgroup-"));
	afterAll(() => rmSync(folder, { recursive: true }));

	/** A group as shown by the kernel. */
	function showGroup(path: string, files: Readonly<Record<string, string>> = {}): string {
		const at = join(folder, path);
		mkdirSync(at, { recursive: true });
		const common = { "cgroup.procs": "", "cgroup.controllers": "", "cgroup.subtree_control": "" };
		for (const [name, text] of Object.entries({ ...common, ...files })) {
			writeFileSync(join(at, name), text);
		}
		return at;
	}
	const home = showGroup("scope");
	showGroup("scope/reeve");
	showGroup(`scope/reeve/test-probe-${process.pid}`);
	const limits = { memoryBytes: 150e6, cpuPercent: 150, pids: 60 };
	const files = ["memory.max", "cpu.max", "pids.max"];
	const read = (path: string, file: string) => readFileSync(join(path, file), "utf8");

	test("a run joins its group, has its limits written there, and is killed as a whole", () => {
		const group = showGroup("scope/reeve/test-run", {
			...Object.fromEntries(files.map((file) => [file, ""])),
			"cgroup.kill": "",
		});
		const groups = createGroups("test", { unified: home, byController: {} });
		expect(groups.describe().map(({ available }) => available)).toEqual([true, true, true, true]);
		expect(read(join(home, "reeve"), "cgroup.subtree_control")).toContain("+");
		const run = groups.create("run", limits);
		expect(run.paths).toEqual([group]);
		expect(run.limitedArgv(["a"], limits)).toEqual(["a"]);
		expect(run.inside(() => read(group, "cgroup.procs"))).toBe("0");
		expect(read(home, "cgroup.procs")).toBe("0".repeat(read(home, "cgroup.procs").length));
		expect(run.applyLimits(limits)).toEqual([]);
		expect(files.map((file) => read(group, file))).toEqual(["150000000", "150000 100000", "60"]);
		killGroup(group);
		expect(read(group, "cgroup.kill")).toBe("1");
		groups.close();
	});

	test("out-of-memory kills of the kernel are counted", () => {
		const group = showGroup("scope/reeve/test-oom", {
			"memory.events": "low 0\noom 1\noom_kill 2\n",
		});
		expect(readOomKills(group)).toBe(2);
		writeFileSync(join(group, "memory.events"), "low 0\noom 0\noom_kill 0\n");
		expect(readOomKills(group)).toBe(0);
		const old = showGroup("old", { "memory.oom_control": "under_oom 0\noom_kill 1\n" });
		expect(readOomKills(old)).toBe(1);
	});

	test("a group with processes of its own enables no controllers for groups below it", () => {
		const lived = showGroup("lived", { "cgroup.type": "domain\n", "cgroup.procs": "17\n" });
		showGroup("lived/reeve");
		showGroup(`lived/reeve/test-probe-${process.pid}`);
		const groups = createGroups("test", { unified: lived, byController: {} });
		expect(groups.describe().map(({ available }) => available)).toEqual([
			true,
			false,
			false,
			false,
		]);
		expect(groups.describe()[3]?.reason).toContain("contains processes");
		expect(read(lived, "cgroup.subtree_control")).toBe("");
		groups.close();
	});

	test("a missing controller leaves a run without that limit, and is reported", () => {
		const bare = showGroup("bare");
		showGroup("bare/reeve");
		showGroup(`bare/reeve/test-probe-${process.pid}`);
		rmSync(join(bare, "cgroup.subtree_control"));
		mkdirSync(join(bare, "cgroup.subtree_control"));
		const groups = createGroups("test", { unified: bare, byController: {} });
		const [tracking, memory] = groups.describe();
		expect(tracking?.available).toBe(true);
		expect(memory).toMatchObject({
			available: false,
			reason: expect.stringContaining("delegated"),
		});
		groups.close();
	});
});

test("the supported limits of the host are described, each with its reason", () => {
	const described = describeLimits();
	expect(described.map(({ name }) => name)).toEqual(["tracking", "memory", "pids", "cpu"]);
	for (const { reason } of described) expect(reason).not.toBe("");
});
