import { describe, expect, test } from "vitest";
import { createGroups, describeLimits } from "./cgroup.js";
import { parseGroupLayout } from "./cgroup-layout.js";
import { isOwnGroup } from "./cgroup-members.js";

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

test("only a group of our own is ever believed to be one (S10)", () => {
	expect(isOwnGroup("/sys/fs/cgroup/reeve/0a1b-run.1")).toBe(true);
	for (const path of ["/sys/fs/cgroup", "/sys/fs/cgroup/reeve", "/sys/reeve/../a", "reeve/x", ""]) {
		expect(isOwnGroup(path)).toBe(false);
	}
});

describe("without the right to make groups", () => {
	const none = { memoryBytes: 1, cpuPercent: null, pids: null };
	const groups = createGroups("test", "a test");

	test("everything works, and says what is missing", () => {
		const run = groups.create("run", none);
		expect(run.paths).toEqual([]);
		expect(run.inside(() => 5)).toBe(5);
		expect(run.applyLimits(none)).toEqual(["no limit on memory: a test"]);
		expect(run.countOomKills()).toBe(0);
		expect(groups.describe()).toContainEqual({ name: "cpu", available: false, reason: "a test" });
	});
});

test("what the host permits is described, each with its reason", () => {
	const described = describeLimits();
	expect(described.map(({ name }) => name)).toEqual(["tracking", "memory", "pids", "cpu"]);
	for (const { reason } of described) expect(reason).not.toBe("");
});
