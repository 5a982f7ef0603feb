import { describe, expect, test } from "vitest";
import { backendForLimits, describeBackends } from "./backends.js";

const manager = {
	version: "252",
	runtimeDir: "/run/user/1000",
	folder: "/sys/fs/cgroup/user.slice",
	controllers: ["cpu", "memory", "pids"],
	lingers: true,
	holdsThisProcess: false,
	runProgram: "systemd-run",
};

type Facts = Parameters<typeof describeBackends>[0];
const describeAll = (facts: Omit<Facts, "noLaunchd" | "noShim" | "shim"> & Partial<Facts>) =>
	describeBackends({
		noLaunchd: "launchd is only available on macOS",
		noShim: null,
		shim: "with the binary",
		...facts,
	});
const autoOf = (facts: Parameters<typeof describeAll>[0]) =>
	describeAll(facts)
		.filter(({ auto }) => auto)
		.map(({ name }) => name);
const limitedOf = (facts: Parameters<typeof describeAll>[0]) =>
	backendForLimits({
		noLaunchd: "launchd is only available on macOS",
		noShim: null,
		shim: "with the binary",
		...facts,
	});
const reasonOf = (facts: Parameters<typeof describeAll>[0], name: string) =>
	describeAll(facts).find((each) => each.name === name);

describe("auto takes", () => {
	test("pty, even if other backends are available", () => {
		expect(autoOf({ manager, noTmux: null })).toEqual(["pty"]);
		expect(autoOf({ manager: "systemd is not installed", noTmux: null })).toEqual(["pty"]);
		expect(autoOf({ manager, noTmux: "tmux is not installed" })).toEqual(["pty"]);
	});

	test("systemd for agents with limits, where the user's own survives a logout", () => {
		expect(limitedOf({ manager, noTmux: null })).toBe("systemd");
		const inside = { ...manager, lingers: false, holdsThisProcess: true };
		expect(limitedOf({ manager: inside, noTmux: null })).toBe("systemd");
	});

	test("pty for agents with limits if systemd would stop every agent at logout, with a hint", () => {
		const facts = { manager: { ...manager, lingers: false }, noTmux: null };
		expect(limitedOf(facts)).toBe("pty");
		expect(reasonOf(facts, "systemd")).toMatchObject({
			usable: true,
			reason: expect.stringContaining("loginctl enable-linger"),
		});
	});

	test("pty for agents with limits where there is no systemd, with the reason", () => {
		const facts = { manager: "systemd is not installed", noTmux: null };
		expect(limitedOf(facts)).toBe("pty");
		expect(reasonOf(facts, "systemd")).toMatchObject({
			usable: false,
			reason: "systemd is not installed",
		});
		expect(limitedOf({ manager, noTmux: "tmux is not installed" })).toBe("systemd");
	});

	test("pty in a systemd scope if the user's systemd survives a logout, with the reason", () => {
		const inScope = /, in a systemd scope$/;
		expect(reasonOf({ manager, noTmux: null }, "pty")?.reason).toMatch(inScope);
		const leaves = { ...manager, lingers: false };
		expect(reasonOf({ manager: leaves, noTmux: null }, "pty")?.reason).not.toMatch(inScope);
	});

	test("never launchd, but it is usable on request", () => {
		const facts = { manager: "systemd is only available on Linux", noTmux: null, noLaunchd: null };
		expect(autoOf(facts)).toEqual(["pty"]);
		expect(reasonOf(facts, "launchd")).toMatchObject({ usable: true, auto: false });
		expect(reasonOf({ ...facts, noLaunchd: "no session" }, "launchd")).toMatchObject({
			usable: false,
			reason: "no session",
		});
	});

	test("pty with the reason where no native program runs on this host", () => {
		const noShim = "There is no native binary";
		expect(reasonOf({ manager, noTmux: null, noShim }, "pty")).toMatchObject({
			usable: false,
			reason: noShim,
		});
	});
});
